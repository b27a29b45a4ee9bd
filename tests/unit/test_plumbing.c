/* Which functions are nobody's place of allocation. */
#include "check.h"

#include "base/count.h"
#include "model/plumbing.h"

static void test_allocators(void)
{
    static const char *const are[] = {
        "zmalloc_usable",
        "ngx_memalign",
        "ngx_palloc",
        "ngx_pcalloc",
        "default_malloc",
        "sqlite3MemMalloc",
        "sqlite3MallocZero",
        "g_malloc0",
        "c10::alloc_cpu",
        "Pool::allocate",
        "char* ns::Pool<int>::allocate<8>(unsigned long)",
        "my_strdup.part.0",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
        "os::commit_memory(char*, unsigned long, bool)",
        "_rjem_je_pages_map",
        "_rjem_je_ehooks_default_alloc_impl",
        "pac_alloc_real",
        "je_malloc_default",
        "_mi_os_alloc_aligned",
        "mi_heap_malloc_zero",
        "tcmalloc::CentralFreeList::Populate()",
        "v8::internal::Zone::Expand(unsigned long)",
    };
    static const char *const are_not[] = {
        "dealloc",
        "subtype_dealloc",
        "allocate_buffers",
        "alloc_small",
        "mallocate",
        "Allocator::reset",
        "count_allocs",
        "main",
        "parse(alloc)",
        "os::run()",
        "jet_parse",
        "mi_open",
        "v8::internal::Heap::Start()",
    };

    for (int i = 0; i < COUNT(are); i++)
        CHECK(plumbing_is_allocator(are[i]));
    for (int i = 0; i < COUNT(are_not); i++)
        CHECK(!plumbing_is_allocator(are_not[i]));
}

static bool is(const char *function, const char *module)
{
    return plumbing_is(&(struct table_frame){.function = function, .module = module});
}

static void test_containers_and_libraries(void)
{
    CHECK(is("std::vector<int, std::allocator<int> >::reserve(unsigned long)", "/app/prog"));
    CHECK(is("void std::vector<int>::_M_realloc_insert<int>(int&&)", "/app/prog"));
    CHECK(is("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "/app/prog"));
    CHECK(is("<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "/app/prog"));
    CHECK(is("<&mut alloc::string::String as core::fmt::Write>::write_str", "/app/prog"));
    CHECK(!is("<app::Thing as core::fmt::Display>::fmt", "/app/prog"));
    CHECK(!is("<app::Thing as app::Load>::load", "/app/prog"));
    CHECK(is("_PyBytes_FromSize", "/usr/bin/python3.11"));
    CHECK(is("PyObject_Call", "/usr/lib/libpython3.12.so.1.0"));
    CHECK(is("fopen", "/usr/lib/x86_64-linux-gnu/libc.so.6"));
    CHECK(is(NULL, "/usr/lib/libc10.so"));
    CHECK(!is("std::vector<int> make<int>(int)", "/app/prog"));
    CHECK(!is("Parser::parse(std::vector<int> const&)", "/app/prog"));
    CHECK(!is("main", "/app/python-like"));
    CHECK(!plumbing_is(&(struct table_frame){.flags = TABLE_FRAME_PYTHON, .module = NULL}));
}

static bool is_in(const char *file)
{
    return plumbing_is(
        &(struct table_frame){.function = "spec_extend", .module = "/app/prog", .file = file});
}

static void test_sources_of_compilers(void)
{
    CHECK(is_in("/rustc/59807616e1fa/library/alloc/src/vec/mod.rs"));
    CHECK(is_in("/home/me/.rustup/lib/rustlib/src/rust/library/core/src/fmt/mod.rs"));
    CHECK(is_in("/rust/deps/hashbrown-0.16.1/src/raw/mod.rs"));
    CHECK(is_in("/usr/include/c++/12/bits/stl_vector.h"));
    CHECK(!is_in("/home/me/app/library/core/src/lib.rs"));
    CHECK(!is_in("/home/me/app/vec.rs"));
    CHECK(!is_in(NULL));
}

static bool allocates(const char *function, const char *file, const char *module)
{
    return plumbing_is_interpreters_allocator(
        &(struct table_frame){.function = function, .file = file, .module = module});
}

static void test_the_interpreters_own_memory(void)
{
    const char *python = "/usr/lib/libpython3.13.so.1.0";

    CHECK(allocates("_PyObject_MallocWithType", "pycore_object_alloc.h", python));
    CHECK(allocates("_PyType_AllocNoTrack", "/src/Objects/typeobject.c", python));
    CHECK(allocates("arena_map_get", "/src/Objects/obmalloc.c", python));
    CHECK(!allocates("subtype_dealloc", "/src/Objects/typeobject.c", python));
    CHECK(!allocates("new_keys_object", "/src/Objects/dictobject.c", python));
    CHECK(!allocates("load_allocations", "/app/main.c", "/app/prog"));
}

static void test_machinery_of_a_stack(void)
{
    struct table_frame python[] = {
        {.function = "PyArray_New", .module = "/x/numpy.so"},
        {.function = "f", .file = "/app.py", .flags = TABLE_FRAME_PYTHON},
        {.function = "_load", .file = "<frozen importlib._bootstrap>", .flags = TABLE_FRAME_PYTHON},
        {.function = "_start", .module = "/usr/bin/python3"},
    };
    struct table_frame native[] = {
        {.function = "malloc", .module = "/app"},
        {.function = "parse", .module = "/app"},
        {.function = "_start", .module = "/app"},
    };
    struct table_frame stripped[] = {
        {.module = "/lib/libpython3.11.so.1.0"},
        {.function = "Py_InitializeFromConfig", .module = "/lib/libpython3.11.so.1.0"},
        {.module = "/usr/bin/gdb"},
        {.function = "__libc_start_main", .module = "/lib/libc.so.6"},
    };
    struct table_frame nothing_else[] = {{.function = "malloc"}, {.function = "_start"}};

    plumbing_mark(python, COUNT(python));
    CHECK(python[0].flags & TABLE_FRAME_MACHINERY);
    CHECK(!(python[1].flags & TABLE_FRAME_MACHINERY));
    CHECK(python[2].flags & TABLE_FRAME_MACHINERY);
    CHECK(python[3].flags & TABLE_FRAME_MACHINERY);
    plumbing_mark(native, COUNT(native));
    CHECK(native[0].flags & TABLE_FRAME_MACHINERY);
    CHECK(!(native[1].flags & TABLE_FRAME_MACHINERY));
    CHECK(native[2].flags & TABLE_FRAME_MACHINERY);
    plumbing_mark(stripped, COUNT(stripped));
    for (int i = 0; i < COUNT(stripped); i++)
        CHECK(!(stripped[i].flags & TABLE_FRAME_MACHINERY) == (i == 2));
    plumbing_mark(nothing_else, COUNT(nothing_else));
    CHECK(!(nothing_else[0].flags & TABLE_FRAME_MACHINERY));
}

int main(void)
{
    static const struct check_test tests[] = {
        {"names of allocators", test_allocators},
        {"containers, interpreters and libraries", test_containers_and_libraries},
        {"sources that come with compilers", test_sources_of_compilers},
        {"the interpreter's own memory", test_the_interpreters_own_memory},
        {"the machinery of a stack", test_machinery_of_a_stack},
    };

    return check_run(tests, COUNT(tests));
}
