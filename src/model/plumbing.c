/* plumbing - see plumbing.h. */
#include "model/plumbing.h"

#include "base/count.h"
#include "base/text.h"
#include "model/plumbing_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Inside containers and the like: of C++, of Rust. */
static const char *const containers[] = {
    "std::",
    "__gnu_cxx::",
    "void std::",
    "alloc::",
    "<alloc::",
    "core::",
    "<core::",
    "<std::",
    "hashbrown::",
    "<hashbrown",
    "boost::container::",
    "absl::container_internal::",
};

static const char *const modules[] = {
    "libc.so",    "libc-2",       "ld-linux",    "libpthread",  "libstdc++.so",   "libc++.so",
    "libc++abi.", "libjemalloc.", "libtcmalloc", "libmimalloc", "libtidemark.so", "libcudart.",
    "libcuda.so", "libamdhip64.", "libOpenCL.",  "libgomp.so",  "libgomp-",       "libomp.so",
    "libomp5.so", "libiomp5.so",  "libgc.so",
};

/* Where programs and threads begin, in programs that have the C library inside. */
static const char *const starts[] = {
    "_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone", "clone3"};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool begins_with_one(const char *text, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (begins(text, list[i]))
            return true;
    return false;
}

static int compare(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

/* The part of a function's name that its author chose, *length long: "allocate" of
 * "char *ns::Pool<int>::allocate<8>(unsigned long)".
 */
static const char *own_name(const char *function, size_t *length)
{
    const char *start = function, *end = NULL;
    int depth = 0;

    for (const char *at = function; *at; at++) {
        if (*at == '<' || *at == '(') {
            end = depth == 0 && !end ? at : end;
            if (*at == '(' && depth == 0 && end)
                break;
            depth++;
        } else if (*at == '>' || *at == ')') {
            depth -= depth > 0;
        } else if (depth == 0 && (*at == ':' || *at == ' ')) {
            start = at + 1;
            end = NULL;
        }
    }
    if (!end)
        end = start + strlen(start);
    *length = (size_t)(end - start);
    return start;
}

/* Without what compilers and authors append: ".part.0", "_usable", "0". */
static size_t without_suffix(const char *name, size_t n)
{
    static const char *const suffixes[] = {"_usable",   "_internal", "_impl", "_aligned", "_array",
                                           "_noinline", "_zeroed",   "_zero", "_cpu",     "_n",
                                           "Zero",      "0",         "z"};
    const char *dot = memchr(name, '.', n);

    n = dot && dot > name ? (size_t)(dot - name) : n;
    for (int i = 0; i < COUNT(suffixes); i++) {
        size_t m = strlen(suffixes[i]);

        if (n > m && strncmp(name + n - m, suffixes[i], m) == 0)
            n -= m;
    }
    return n;
}

/* "ngx_palloc", "PyArray_malloc", "MemAlloc", "allocate"; but neither "dealloc" nor "mallocate". */
static bool ends_as_allocator(const char *name, size_t n)
{
    static const char *const ends[] = {"malloc", "calloc",  "realloc", "memalign",
                                       "strdup", "strndup", "memdup"};
    static const char *const words[] = {"alloc", "allocate", "reallocate"};

    for (int i = 0; i < COUNT(ends); i++) {
        size_t m = strlen(ends[i]);

        if (n >= m && strncasecmp(name + n - m, ends[i], m) == 0)
            return true;
    }
    for (int i = 0; i < COUNT(words); i++) {
        size_t m = strlen(words[i]);
        const char *word = name + n - m;

        if (n < m || strncasecmp(word, words[i], m) != 0)
            continue;
        if (n == m || word[-1] == '_' || isupper((unsigned char)*word))
            return true;
        if (i == 0 && (n == m + 1 || word[-2] == '_')) /* one letter, as in palloc */
            return true;
    }
    return false;
}

bool plumbing_is_allocator(const char *function)
{
    size_t n;
    const char *name;

    if (bsearch(function, names, COUNT(names), sizeof(names[0]), compare) ||
        begins_with_one(function, beginnings, COUNT(beginnings)))
        return true;
    name = own_name(function, &n);
    return ends_as_allocator(name, without_suffix(name, n));
}

bool plumbing_reserves(const char *function)
{
    return begins_with_one(function, reserving, COUNT(reserving));
}

bool plumbing_is_interpreter(const char *module)
{
    const char *base = module ? text_base(module) : "";

    if (begins(base, "libpython"))
        return true;
    return begins(base, "python") && base[6 + strspn(base + 6, "0123456789.dmt-")] == 0;
}

/* Its memory, and the memory of any object: "_PyObject_MallocWithType", "PyType_GenericAlloc". */
bool plumbing_is_interpreters_allocator(const struct table_frame *f)
{
    static const char *const files[] = {"obmalloc.c", "gcmodule.c", "gc.c"};
    const char *alloc = f->function ? strcasestr(f->function, "alloc") : NULL;

    if (!plumbing_is_interpreter(f->module))
        return false;
    if (alloc && !(alloc - f->function >= 2 && strncasecmp(alloc - 2, "de", 2) == 0))
        return true;
    for (int i = 0; f->file && i < COUNT(files); i++)
        if (strcmp(text_base(f->file), files[i]) == 0)
            return true;
    return false;
}

/* "std::vector<int> make(int)" is a function of the program that returns a container. */
static const char *without_result(const char *function)
{
    const char *start = function;
    int depth = 0;

    if (strstr(function, "operator"))
        return function;
    for (const char *at = function; *at && !(*at == '(' && depth == 0); at++) {
        depth += *at == '<' || *at == '(';
        depth -= (*at == '>' || *at == ')') && depth > 0;
        if (*at == ' ' && depth == 0)
            start = at + 1;
    }
    return start;
}

/* Of Rust: what a library that comes with the compiler does for a type that nobody has named, or
 * for its own:
 * "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem".
 */
static bool is_of_rust(const char *function)
{
    static const char *const owners[] = {
        " as alloc::", " as core::", " as std::", " as hashbrown::"};
    const char *as = function[0] == '<' ? strstr(function, " as ") : NULL;
    const char *type = function + 1 + strspn(function + (function[0] != 0), "&[(*");

    if (!as || !begins_with_one(as, owners, COUNT(owners)))
        return false;
    type += begins(type, "mut ") ? 4 : 0;
    return memmem(type, (size_t)(as - type), "::", 2) == NULL ||
           begins_with_one(type, containers, COUNT(containers));
}

bool plumbing_is_compilers(const char *file)
{
    static const char *const folders[] = {"/include/c++/", "/library/alloc/src/",
                                          "/library/core/src/", "/library/std/src/", "/rust/deps/"};

    for (int i = 0; file && i < COUNT(folders); i++)
        if (strstr(file, folders[i]) && (i == 0 || begins(file, "/rustc/") ||
                                         begins(file, "/rust/") || strstr(file, "/rustlib/")))
            return true;
    return false;
}

static bool is_of_plumbing(const char *module)
{
    return plumbing_is_interpreter(module) ||
           (module && begins_with_one(text_base(module), modules, COUNT(modules)));
}

static bool has_name(const struct table_frame *f)
{
    return f->function && !(f->module && text_is_place(f->function, f->module));
}

bool plumbing_is(const struct table_frame *f)
{
    if (f->flags & TABLE_FRAME_PYTHON)
        return false;
    if (!has_name(f) || is_of_plumbing(f->module) || plumbing_is_allocator(f->function))
        return true;
    for (int i = 0; i < COUNT(starts); i++)
        if (strcmp(f->function, starts[i]) == 0)
            return true;
    return plumbing_is_compilers(f->file) || is_of_rust(f->function) ||
           begins_with_one(without_result(f->function), containers, COUNT(containers));
}

/* A line of Python but for those that import: their callers and what is imported say it all; and
 * for ours. */
static bool is_line(const struct table_frame *f)
{
    return f->flags & TABLE_FRAME_PYTHON &&
           !(f->file && (begins(f->file, "<frozen importlib") ||
                         begins(f->file, "<frozen zipimport") || begins(f->file, "<tidemark>")));
}

bool plumbing_is_nameless(const struct table_frame *f)
{
    return !has_name(f) && f->module && !is_of_plumbing(f->module);
}

bool plumbing_is_machinery(const struct table_frame *f, enum plumbing_view view)
{
    if (view == PLUMBING_PYTHON)
        return !is_line(f);
    return plumbing_is(f) && !(view == PLUMBING_NAMELESS && plumbing_is_nameless(f));
}

static bool mark(struct table_frame *frames, int count, enum plumbing_view view)
{
    bool any = false;

    for (int i = 0; i < count; i++) {
        bool machinery = plumbing_is_machinery(&frames[i], view);

        any = any || !machinery;
        frames[i].flags &= ~(unsigned int)TABLE_FRAME_MACHINERY;
        frames[i].flags |= machinery ? TABLE_FRAME_MACHINERY : 0u;
    }
    return any;
}

void plumbing_mark(struct table_frame *frames, int count)
{
    bool python = false;

    for (int i = 0; i < count; i++)
        python = python || (frames[i].flags & TABLE_FRAME_PYTHON);
    if (mark(frames, count, python ? PLUMBING_PYTHON : PLUMBING_NATIVE) ||
        mark(frames, count, PLUMBING_NAMELESS))
        return;
    for (int i = 0; i < count; i++)
        frames[i].flags &= ~(unsigned int)TABLE_FRAME_MACHINERY;
}
