/* Which files are the program's own: never hidden for where they are installed. */
#include "base/count.h"
#include "model/scope.h"

#include "check.h"

static struct arena arena;

static enum scope_kind python_of(const char *file, const char *command)
{
    struct scope s = {.arena = &arena};
    enum scope_kind kind;

    scope_command(&s, command);
    kind = scope_of_python(&s, file);
    scope_free(&s);
    return kind;
}

static enum scope_kind plain(const char *file)
{
    return python_of(file, "python3 /x/y.py");
}

static void users_files(void)
{
    CHECK_EQ(plain("/usr/src/app/main.py"), SCOPE_OWN);
    CHECK_EQ(plain("/home/u/lib/python-tools/x.py"), SCOPE_OWN);
    CHECK_EQ(plain("/home/u/lib/python3.11/mine.py"), SCOPE_OWN); /* no module of the library */
    CHECK_EQ(plain("/home/u/python3.11/json/decoder.py"), SCOPE_OWN);
    CHECK_EQ(plain("/home/u/site-packages/x.py"), SCOPE_OWN); /* of no interpreter */
    CHECK_EQ(plain("/opt/json/decoder.py"), SCOPE_OWN);
    CHECK_EQ(plain("relative.py"), SCOPE_OWN);
    CHECK_EQ(plain("/tmp/ipykernel_12/3456.py"), SCOPE_OWN);
    CHECK_EQ(plain("/usr/lib/app/python3.11.py"), SCOPE_OWN);
    CHECK_EQ(plain(""), SCOPE_OWN);
}

static void others(void)
{
    CHECK_EQ(plain("/usr/lib/python3.11/json/decoder.py"), SCOPE_LIBRARY);
    CHECK_EQ(plain("/usr/lib/python3.11/threading.py"), SCOPE_LIBRARY);
    CHECK_EQ(plain("/home/u/.pyenv/versions/3.13.0/lib/python3.13t/os.py"), SCOPE_LIBRARY);
    CHECK_EQ(plain("/usr/lib64/python3.9/_sysconfigdata__linux_x86_64-linux-gnu.py"),
             SCOPE_LIBRARY);
    CHECK_EQ(plain("/opt/py/lib/python311.zip/json/decoder.py"), SCOPE_LIBRARY);
    CHECK_EQ(plain("/opt/pypy/lib/pypy3.10/abc.py"), SCOPE_LIBRARY);
    CHECK_EQ(plain("<frozen importlib._bootstrap>"), SCOPE_LIBRARY);
    CHECK_EQ(plain("/usr/lib/python3/dist-packages/numpy/core.py"), SCOPE_PACKAGES);
    CHECK_EQ(plain("/v/lib/python3.12/site-packages/a/b.py"), SCOPE_PACKAGES);
    CHECK_EQ(plain("/v/Lib/site-packages/a.py"), SCOPE_PACKAGES);
}

static void code_without_a_file(void)
{
    CHECK_EQ(plain("<string>"), SCOPE_GENERATED);
    CHECK_EQ(plain("<attrs generated init x.Y>"), SCOPE_GENERATED);
    CHECK_EQ(python_of("<string>", "python3 -c import x"), SCOPE_OWN);
    CHECK_EQ(python_of("<string>", "python3 -Iuc import x"), SCOPE_OWN);
    CHECK_EQ(python_of("<string>", "python3 -W c x.py -c"), SCOPE_GENERATED);
    CHECK_EQ(plain("<stdin>"), SCOPE_OWN);
    CHECK_EQ(plain("<ipython-input-3-abc>"), SCOPE_OWN);
}

static void the_program(void)
{
    const char *script = "/v/lib/python3.12/site-packages/tool/run it.py";
    const char *module = "/v/lib/python3.12/site-packages/tool/cli/__main__.py";

    CHECK_EQ(python_of(script, "python3 /v/lib/python3.12/site-packages/tool/run it.py -v"),
             SCOPE_OWN);
    CHECK_EQ(python_of(script, "python3 -X dev -u ../tool/run it.py"), SCOPE_OWN);
    CHECK_EQ(python_of(script, "python3 other.py tool/run it.py"), SCOPE_PACKAGES);
    CHECK_EQ(python_of(script, "python3 it.py"), SCOPE_PACKAGES);
    CHECK_EQ(python_of(module, "python3 -m tool.cli --fast"), SCOPE_OWN);
    CHECK_EQ(python_of(module, "python3 -Im tool.cli"), SCOPE_OWN);
    CHECK_EQ(python_of(module, "python3 -mtool.cli"), SCOPE_OWN);
    CHECK_EQ(python_of(module, "python3 -m ool.cli"), SCOPE_PACKAGES);
    CHECK_EQ(python_of("/usr/lib/python3.11/http/server.py", "python3 -m http.server"), SCOPE_OWN);
}

static void learned(void)
{
    struct scope s = {.arena = &arena};

    CHECK_EQ(scope_of_python(&s, "/app/embedded/os.py"), SCOPE_OWN);
    scope_learn(&s, "/app/embedded/encodings/__init__.py");
    CHECK_EQ(scope_of_python(&s, "/app/embedded/os.py"), SCOPE_LIBRARY);
    CHECK_EQ(scope_of_python(&s, "/app/embedded/game.py"), SCOPE_OWN);
}

static void native(void)
{
    struct scope s = {.arena = &arena};

    CHECK_EQ(scope_of_native(&s, "/src/a.c", "/opt/app"), SCOPE_OWN);
    CHECK_EQ(scope_of_native(&s, "/src/a.c", NULL), SCOPE_OWN);
    CHECK_EQ(scope_of_native(&s, "/src/a.c", "/usr/lib/app/plugin.so"), SCOPE_OWN);
    CHECK_EQ(scope_of_native(&s, "/rustc/59807616e1/library/alloc/src/alloc.rs", "/opt/app"),
             SCOPE_NATIVE);
    CHECK_EQ(scope_of_native(&s, "/opt/gcc/include/c++/14/bits/stl_vector.h", "/opt/app"),
             SCOPE_NATIVE);
    CHECK_EQ(scope_of_native(&s, NULL, "/opt/app"), SCOPE_NATIVE);
    CHECK_EQ(scope_of_native(&s, "malloc.c", "/lib/x86_64-linux-gnu/libc.so.6"), SCOPE_NATIVE);
    CHECK_EQ(scope_of_native(&s, "/usr/include/c++/12/vector", "/opt/app"), SCOPE_NATIVE);
    CHECK_EQ(scope_of_native(&s, "Python/ceval.c", "/opt/py/bin/python3.12"), SCOPE_NATIVE);
    CHECK_EQ(scope_of_native(&s, "Python/ceval.c", "/opt/py/lib/libpython3.12.so.1.0"),
             SCOPE_NATIVE);
    CHECK_EQ(scope_of_native(&s, "a.c", "/v/lib/python3.12/site-packages/a.so"), SCOPE_NATIVE);
}

static void rules(void)
{
    const char *const only[] = {"numpy"}, *const exclude[] = {"*/test_*.py"};
    struct scope_rules r = {.all = true};
    struct scope s = {.arena = &arena, .rules = &r};

    CHECK_EQ(scope_of_python(&s, "/usr/lib/python3.11/threading.py"), SCOPE_OWN);
    CHECK_EQ(scope_of_native(&s, "malloc.c", "/lib/libc.so.6"), SCOPE_OWN);
    r = (struct scope_rules){.only = only, .only_count = 1};
    CHECK_EQ(scope_of_python(&s, "/v/lib/python3.12/site-packages/numpy/x.py"), SCOPE_OWN);
    CHECK_EQ(scope_of_python(&s, "/home/u/x.py"), SCOPE_LEFT_OUT);
    CHECK_EQ(scope_of_python(&s, "/usr/lib/python3.11/threading.py"), SCOPE_LIBRARY);
    r = (struct scope_rules){.exclude = exclude, .exclude_count = 1};
    CHECK_EQ(scope_of_python(&s, "/home/u/test_x.py"), SCOPE_LEFT_OUT);
    CHECK_EQ(scope_of_python(&s, "/home/u/x.py"), SCOPE_OWN);
}

static void patterns(void)
{
    CHECK(scope_matches("app", "/home/u/app/x.py"));
    CHECK(!scope_matches("apq", "/home/u/app/x.py"));
    CHECK(scope_matches("*.py", "/home/u/x.py"));
    CHECK(scope_matches("app/*.py", "/home/u/app/x.py"));
    CHECK(!scope_matches("app/*.pyx", "/home/u/app/x.py"));
    CHECK(scope_matches("x?.py", "/home/u/xy.py"));
    CHECK(scope_matches("[ab].py", "b.py"));
    CHECK(!scope_matches("[ab].py", "/c.py"));
}

static void test_what_only_starts_the_program_is_not_it(void)
{
    static const char *const boots[][2] = {
        {"/v/lib/python3.12/site-packages/pytest/__main__.py", "python -m pytest"},
        {"/v/lib/python3.12/site-packages/loky/popen.py",
         "python /v/lib/python3.12/site-packages/loky/popen.py --pipe 7"},
        {"/v/bin/gunicorn", "/v/bin/python /v/bin/gunicorn app:main"},
    };

    for (int i = 0; i < COUNT(boots); i++) {
        struct scope s = {.arena = &arena};

        scope_command(&s, boots[i][1]);
        scope_learn(&s, "/v/lib/python3.12/site-packages/x.py");
        scope_settle(&s, boots[i][0]);
        CHECK_EQ(scope_of_python(&s, boots[i][0]), SCOPE_OWN); /* as there is nothing else */
        scope_settle(&s, "/home/u/app.py");
        CHECK_EQ(scope_of_python(&s, boots[i][0]), SCOPE_PACKAGES);
        CHECK_EQ(scope_of_python(&s, "/home/u/app.py"), SCOPE_OWN);
        scope_free(&s);
    }
}

static void test_what_multiprocessing_types_nobody_has_typed(void)
{
    const char *spawn = "python -c from multiprocessing.spawn import spawn_main; spawn_main(5)";

    CHECK_EQ(python_of("<string>", spawn), SCOPE_GENERATED);
    CHECK_EQ(python_of("<string>", "python -c import app; app.main()"), SCOPE_OWN);
    CHECK_EQ(python_of("<string>", "python -c from multiprocessing.pool import Pool; f(Pool())"),
             SCOPE_OWN);
    CHECK_EQ(python_of("<boot of multiprocessing>", "python -c import app"), SCOPE_GENERATED);
    CHECK_EQ(python_of("<string 2>", "python -c import app"), SCOPE_OWN);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what only starts the program is not it", test_what_only_starts_the_program_is_not_it},
        {"what multiprocessing types nobody has typed",
         test_what_multiprocessing_types_nobody_has_typed},
        {"the user's files", users_files},
        {"files of others", others},
        {"code without a file", code_without_a_file},
        {"the program that was run", the_program},
        {"a library that the trace shows", learned},
        {"native code", native},
        {"rules", rules},
        {"patterns", patterns},
    };
    int result = check_run(tests, sizeof(tests) / sizeof(tests[0]));

    arena_free(&arena);
    return result;
}
