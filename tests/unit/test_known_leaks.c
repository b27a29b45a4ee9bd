/* What libraries keep on purpose is known by its stack; what a program leaks beside it is not. */
#include "check.h"

#include "model/known_leaks.h"

#include <string.h>

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#define LIBSTDCXX "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
#define APP "/opt/app/bin/app"

static bool is(const struct table_frame *frames, int count, const char *what)
{
    const struct table_stack stack = {.count = count, .own = count, .frames = frames};
    const char *found = known_leak(&stack);

    return what ? found && strstr(found, what) : !found;
}

#define IS(what, ...)                                                                              \
    is((const struct table_frame[]){__VA_ARGS__},                                                  \
       sizeof((struct table_frame[]){__VA_ARGS__}) / sizeof(struct table_frame), what)

static void test_libraries(void)
{
    CHECK(IS("exceptions", {.module = LIBSTDCXX, .address = 0x1234},
             {.function = "call_init", .module = LOADER},
             {.function = "_dl_init", .module = LOADER}));
    CHECK(IS("exceptions", {.module = LIBSTDCXX}, {.module = LOADER}));
    CHECK(IS("stdio", {.function = "_IO_file_doallocate", .module = LIBC},
             {.function = "puts", .module = LIBC}, {.function = "main", .module = APP}));
    CHECK(IS("locales", {.function = "strndup", .module = LIBC},
             {.function = "setlocale", .module = LIBC}, {.function = "main", .module = APP}));
    CHECK(IS("loader", {.function = "malloc", .module = LOADER}, {.module = LOADER},
             {.function = "dlopen", .module = LIBC}, {.function = "main", .module = APP}));
}

static void test_python(void)
{
    CHECK(IS("start of the interpreter", {.function = "PyType_GenericAlloc", .module = "python3"},
             {.function = "Py_InitializeFromConfig", .module = "python3"},
             {.function = "main", .module = "python3"}));
    CHECK(IS("imported", {.function = "PyCode_New", .module = "python3"},
             {.function = "get_code",
              .file = "<frozen importlib._bootstrap_external>",
              .flags = TABLE_FRAME_PYTHON},
             {.function = "<module>", .file = "app.py", .flags = TABLE_FRAME_PYTHON}));
    CHECK(IS(NULL, {.function = "PyList_New", .module = "python3"},
             {.function = "<module>", .file = "cache.py", .flags = TABLE_FRAME_PYTHON},
             {.function = "_call_with_frames_removed",
              .file = "<frozen importlib._bootstrap>",
              .flags = TABLE_FRAME_PYTHON},
             {.function = "<module>", .file = "app.py", .flags = TABLE_FRAME_PYTHON}));
}

static void test_programs(void)
{
    CHECK(known_leak(NULL) == NULL);
    CHECK(IS(NULL, {.function = "main", .module = APP}));
    CHECK(IS(NULL, {.function = "strdup", .module = LIBC}, {.function = "main", .module = APP}));
    CHECK(IS(NULL, {.function = "fopen", .module = LIBC}, {.function = "main", .module = APP}));
    CHECK(IS(NULL, {.function = "operator new(unsigned long)", .module = LIBSTDCXX},
             {.function = "main", .module = APP}, {.function = "call_init", .module = LOADER}));
    /* a function of the program that libc calls back, and one of the same name */
    CHECK(IS(NULL, {.function = "compare", .module = APP}, {.function = "dlopen", .module = LIBC}));
    CHECK(IS(NULL, {.function = "setlocale", .module = APP}, {.function = "main", .module = APP}));
}

int main(void)
{
    static const struct check_test tests[] = {
        {"libraries", test_libraries},
        {"an interpreter", test_python},
        {"programs", test_programs},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
