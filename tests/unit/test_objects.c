/* objects: our own table of them, as it is before glibc 2.35 (the loader's answer is linked away).
 */
#include "inject/objects.h"

#include "check.h"
#include "inject/state.h"

#include <dlfcn.h>
#include <libgen.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static char library[4096];

static const char *name_of(const void *address)
{
    struct object o;

    return objects_find(address, &o) ? o.map->l_name : NULL;
}

static bool is_in_library(const void *address)
{
    const char *name = name_of(address);

    return name && strstr(name, "one_object");
}

/* Everything the loader lists is found, from its first byte to its last, and nothing behind it. */
static int check_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct object o;

    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr);

        if (p->p_type != PT_LOAD || !p->p_memsz)
            continue;
        if (!CHECK(objects_find(at, &o)))
            continue;
        CHECK_STR(o.map->l_name, info->dlpi_name);
        CHECK(objects_find(at + p->p_memsz - 1, &o));
        CHECK((const char *)o.end >= at + p->p_memsz);
        CHECK(!objects_find(o.end, &o) || o.start > (const void *)at);
    }
    return 0;
}

static void test_listed(void)
{
    int here;

    CHECK(objects_are_ours());
    dl_iterate_phdr(check_object, NULL);
    CHECK(!name_of(&here) && !name_of(NULL) && !name_of((void *)-1l));
}

static void test_come_and_go(void)
{
    void *handle = dlopen(library, RTLD_NOW), *function;
    struct objects_closing closing;

    if (!CHECK(handle))
        return;
    objects_came(NULL);
    function = dlsym(handle, "one_object");
    CHECK(is_in_library(function));
    closing = objects_close(handle);
    dlclose(handle);
    objects_closed(&closing);
    CHECK(!name_of(function));
}

/* As libc loads for itself: found at the first miss, but not by a handler, nor by a forked child.
 */
static void test_unseen(void)
{
    void *handle, *function;

    CHECK(name_of((void *)test_unseen));
    handle = dlopen(library, RTLD_NOW);
    function = handle ? dlsym(handle, "one_object") : NULL;
    if (!CHECK(function))
        return;
    local.quiet = 1;
    CHECK(!name_of(function));
    local.quiet = 0;
    atomic_fetch_add(&process.forks, 1);
    CHECK(!name_of(function));
    atomic_fetch_sub(&process.forks, 1);
    uint32_t generation = atomic_load(&process.generation);
    CHECK(is_in_library(function));
    CHECK(atomic_load(&process.generation) != generation); /* what was not found is forgotten */
    dlclose(handle);
    objects_came(NULL);
}

/* A second namespace is in no list of an old loader: its handle leads to it. */
static void test_namespaces(void)
{
    int version = _r_debug.r_version;
    const struct link_map *first;
    struct objects_closing closing;
    void *handle, *function;

    *(volatile int *)&_r_debug.r_version = 1;
    handle = dlmopen(LM_ID_NEWLM, library, RTLD_NOW);
    if (CHECK(handle)) {
        *(volatile int *)&_r_debug.r_version = 1;
        function = dlsym(handle, "one_object");
        CHECK(!name_of(function));
        objects_came(handle);
        CHECK(is_in_library(function));
        CHECK(objects_space(1, &first) && first);
        CHECK(objects_space(2, &first) && !first);
        closing = objects_close(handle);
        CHECK(objects_space(1, &first) && !first);
        CHECK_EQ(closing.place, 1);
        dlclose(handle);
        objects_closed(&closing);
        CHECK(objects_space(1, &first) && !first);
        CHECK(!name_of(function));
    }
    *(volatile int *)&_r_debug.r_version = version;
    objects_came(NULL);
}

/* One thread loads and unloads, as fast as it can, another asks: each answer is a whole one. */
static _Atomic bool done;

static void *load_and_unload(void *count)
{
    for (int i = 0; i < *(int *)count; i++) {
        void *handle = dlopen(library, RTLD_NOW);
        struct objects_closing closing;

        objects_came(NULL);
        closing = objects_close(handle);
        dlclose(handle);
        objects_closed(&closing);
    }
    atomic_store(&done, true);
    return NULL;
}

static void test_at_once(void)
{
    pthread_t loaders[2];
    unsigned long wrong = 0;
    int count = 300;

    atomic_store(&done, false);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&loaders[i], NULL, load_and_unload, &count) == 0);
    while (!atomic_load(&done)) {
        struct object o;

        wrong += !objects_find((void *)test_at_once, &o) || o.map != _r_debug.r_map ||
                 o.start > (void *)test_at_once || o.end <= (void *)test_at_once;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(loaders[i], NULL);
    CHECK_EQ(wrong, 0);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what the loader lists is found", test_listed},
        {"objects come and go", test_come_and_go},
        {"objects that came unseen are found at a miss", test_unseen},
        {"second namespaces are known by their handles", test_namespaces},
        {"the table is read while it is made", test_at_once},
    };
    ssize_t n = readlink("/proc/self/exe", library, sizeof(library) - 32);

    if (n > 0)
        strcat(dirname(library), "/libone_object.so");
    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
