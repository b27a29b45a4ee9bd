/* make_lines_trace - traces of a Python program with numbers that are known: make_lines_trace KIND
 * FILE
 *
 *   python   two of its own files, the standard library, a package, native threads; see put_python
 *   native   a program without Python, with lines in two files and a library of the system
 *   cpu      as python, with CPU time and waits alone
 *   asked    as python, which asks to show its function loop
 *
 * tests/cli/test_lines.py knows what is in each.
 */
#include "maker_help.h"
#include "trace/batch.h"

#include <stdio.h>
#include <string.h>

/* ---- code ---- */

#define MAIN_PY "/srv/app/main.py"
#define WORK_PY "/home/u/lib/python-tools/work.py"
#define EXTRA_PY "/usr/src/app/extra.py"
#define JSON_PY "/usr/lib/python3.11/json/decoder.py"
#define THREADING_PY "/usr/lib/python3.11/threading.py"
#define NUMPY_PY "/usr/lib/python3/dist-packages/numpy/core.py"

enum { PYTHON = 1, BLAS, LIBC, APP };
enum {
    F_MODULE = 1,
    F_MAIN,
    F_LOOP5,
    F_LOOP6,
    F_DECODE,
    F_NEW,
    F_GEMM,
    F_START,
    F_DOT,
    F_HELP,
    F_INIT,
    F_FROZEN,
    F_RUN,
    F_FACT,
    F_LAMBDA
};
enum {
    S_MODULE = 1,
    S_MAIN,
    S_LOOP5,
    S_LOOP6,
    S_DECODE,
    S_NEW,
    S_START,
    S_GEMM,
    S_DOT,
    S_HELP,
    S_INIT,
    S_FROZEN,
    S_RUN,
    S_FACT,
    S_FACT2,
    S_FACT3,
    S_LAMBDA,
    S_CALL,
};

static void put_python_frame(uint64_t frame, const char *file, const char *function, uint64_t first,
                             uint64_t line)
{
    PUT(TRACE_FRAME, 0, NULL, 0, frame, TRACE_FRAME_PYTHON, 0, first);
    PUT(TRACE_NAME, 0, NULL, 0, frame, 0, text(function), text(file), line);
}

static void put_native_frame(uint64_t frame, uint64_t module, const char *function)
{
    PUT(TRACE_FRAME, 0, NULL, 0, frame, TRACE_FRAME_MODULE, module, 0x100 * frame);
    PUT(TRACE_NAME, 0, NULL, 0, frame, 0, text(function));
}

static void put_code(void)
{
    static const uint64_t stacks[][2] = {
        {0, F_MODULE},       {S_MODULE, F_MAIN}, {S_MAIN, F_LOOP5}, {S_MAIN, F_LOOP6},
        {S_LOOP6, F_DECODE}, {S_DECODE, F_NEW},  {0, F_START},      {S_START, F_GEMM},
        {S_MAIN, F_DOT},     {S_MAIN, F_HELP},   {S_MAIN, F_INIT},  {0, F_FROZEN},
        {0, F_RUN},          {S_MAIN, F_FACT},   {S_FACT, F_FACT},  {S_FACT2, F_FACT},
        {S_LOOP5, F_LAMBDA}, {S_DOT, F_GEMM},
    };

    PUT(TRACE_MODULE, 0, NULL, 0, PYTHON, text("/usr/bin/python3.11"), 0);
    PUT(TRACE_MODULE, 0, NULL, 0, BLAS, text("/usr/lib/x86_64-linux-gnu/libblas.so.3"), 0);
    PUT(TRACE_MODULE, 0, NULL, 0, LIBC, text("/lib/x86_64-linux-gnu/libc.so.6"), 0);
    put_python_frame(F_MODULE, MAIN_PY, "<module>", 1, 10);
    put_python_frame(F_MAIN, MAIN_PY, "main", 3, 7);
    put_python_frame(F_LOOP5, WORK_PY, "loop", 3, 5);
    put_python_frame(F_LOOP6, WORK_PY, "loop", 3, 6);
    put_python_frame(F_DECODE, JSON_PY, "decode", 340, 355);
    put_native_frame(F_NEW, PYTHON, "PyList_New");
    put_native_frame(F_GEMM, BLAS, "dgemm_");
    put_native_frame(F_START, LIBC, "start_thread");
    put_python_frame(F_DOT, NUMPY_PY, "dot", 70, 77);
    put_python_frame(F_HELP, EXTRA_PY, "help", 1, 3);
    put_python_frame(F_INIT, "<string>", "__init__", 1, 2);
    put_python_frame(F_FROZEN, "<frozen importlib._bootstrap>", "_find_spec", 900, 917);
    put_python_frame(F_RUN, THREADING_PY, "run", 980, 982);
    put_python_frame(F_FACT, WORK_PY, "fact", 11, 12);
    put_python_frame(F_LAMBDA, WORK_PY, "<lambda>", 5, 5);
    for (uint64_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
        PUT(TRACE_STACK, 0, NULL, 0, i + 1, stacks[i][0], stacks[i][1]);
}

static void put_source(const char *file, const char *const *lines)
{
    for (uint64_t i = 0; lines[i]; i++)
        PUT(TRACE_SOURCE, 0, lines[i], strlen(lines[i]), text(file), i + 1);
}

static void put_sources(void)
{
    static const char *const main_py[] = {"import work",
                                          "",
                                          "def main():",
                                          "    # a comment",
                                          "    # another",
                                          "    #",
                                          "    work.loop(work.fact(3))",
                                          "",
                                          "",
                                          "main()",
                                          "",
                                          "# the end",
                                          NULL};
    static const char *const work_py[] = {"# \303\274bung",
                                          "",
                                          "def loop(n):",
                                          "    while n:",
                                          "        n = step(n, key=lambda x: x)",
                                          "        keep.append(json.loads(text))",
                                          "",
                                          "",
                                          "",
                                          "",
                                          "def fact(n):",
                                          "\treturn 1 if n < 2 else n * fact(n - 1)",
                                          NULL};

    put_source(MAIN_PY, main_py);
    put_source(WORK_PY, work_py);
    trace_store_fact(store, TRACE_OF_RUN, 0, "sources_changed", WORK_PY, strlen(WORK_PY));
}

/* ---- time ---- */

static void cpu(uint64_t thread, uint64_t stack, int samples, uint64_t ms, uint64_t kind)
{
    static uint64_t now = 100;

    while (samples--)
        PUT(TRACE_CPU, (now += 1) * MS, NULL, 0, thread, stack, ms * MS, kind);
}

static void put_wait(uint64_t thread, uint64_t stack, uint64_t ms, uint64_t cause)
{
    PUT(TRACE_WAIT, 500 * MS, NULL, 0, thread, stack, ms * MS, cause);
}

/* 1200 ms: loop:5 570 (of them 20 in a lambda), loop:6 400 (100 of them below json, half native,
 * all of that in a copy), main:7 175 (150 of a worker of BLAS that it calls, 10 of a <string>, 10
 * of numpy, 5 of a thread that it started), fact:12 30, extra:3 10, outside: 15 (frozen).
 */
static void put_time(void)
{
    cpu(10, S_LOOP5, 55, 10, TRACE_CPU_PYTHON);
    cpu(10, S_LAMBDA, 2, 10, TRACE_CPU_PYTHON);
    cpu(10, S_LOOP6, 30, 10, TRACE_CPU_PYTHON);
    cpu(10, S_DECODE, 5, 10, TRACE_CPU_PYTHON);
    cpu(10, S_NEW, 5, 10, TRACE_CPU_NATIVE | TRACE_CPU_COPY);
    cpu(10, S_CALL, 1, 10, TRACE_CPU_SYSTEM);
    cpu(11, S_GEMM, 15, 10, TRACE_CPU_NATIVE);
    cpu(10, S_INIT, 1, 10, TRACE_CPU_PYTHON);
    cpu(10, S_FACT, 1, 10, TRACE_CPU_PYTHON);
    cpu(10, S_FACT3, 2, 10, TRACE_CPU_PYTHON);
    cpu(10, S_HELP, 1, 10, TRACE_CPU_PYTHON);
    cpu(10, S_FROZEN, 1, 15, TRACE_CPU_PYTHON);
    cpu(12, S_RUN, 1, 5, TRACE_CPU_SYSTEM);
    put_wait(10, S_LOOP6, 300, TRACE_WAIT_SLEEP);
    put_wait(10, S_LOOP6, 100, TRACE_WAIT_GIL);
    put_wait(10, S_MAIN, 50, TRACE_WAIT_IO);
    put_wait(12, S_RUN, 550, TRACE_WAIT_LOCK);
    PUT(TRACE_COPY, 600 * MS, NULL, 0, 10, S_NEW, 4 * MIB, 2000);
    PUT(TRACE_COPY, 600 * MS, NULL, 0, 11, S_GEMM, 1 * MIB);
}

/* ---- memory ---- */

static struct batch batch;

static void flush(void)
{
    static unsigned char tail[BATCH_TAIL_MOST];
    size_t used = batch_close(&batch, tail);

    PUT(TRACE_BATCH, batch.last_ns, tail, used, 1, batch.events, batch.last_ns - batch.start_ns);
}

static void allocs(uint32_t info, int count)
{
    while (count--)
        batch_alloc(&batch, info);
}

/* loop:6: ten blocks of 1 MiB by Python, six freed; loop:5: 1000 of 100 bytes, freed at once.
 * main:7: 2 MiB of BLAS, 1 MiB of numpy by malloc. Peak 13 MiB at 400 ms, at the end 7 MiB.
 * threading: 512 bytes, kept.
 */
static void put_memory(void)
{
    static const uint64_t infos[][3] = {{MIB, S_NEW, TRACE_BY_PYTHON},
                                        {100, S_LOOP5, TRACE_BY_PYTHON},
                                        {2 * MIB, S_GEMM, TRACE_BY_MALLOC},
                                        {MIB, S_DOT, TRACE_BY_MALLOC},
                                        {512, S_RUN, TRACE_BY_PYTHON}};
    unsigned char tail[256];
    size_t used = 0;

    for (int i = 0; i < 5; i++)
        used += batch_put_info(tail + used, infos[i][0], infos[i][1], infos[i][2],
                               i ? infos[i - 1][1] : 0);
    PUT(TRACE_INFOS, 0, tail, used, 1, 1, 5);
    batch_reset(&batch, 200 * MS);
    batch_at(&batch, 10, 200 * MS);
    for (int i = 0; i < 1000; i++) {
        batch_alloc(&batch, 2);
        batch_free(&batch, 2, batch_fate(true, 0, 0));
    }
    allocs(1, 5);
    batch_at(&batch, 12, 210 * MS);
    allocs(5, 1);
    batch_at(&batch, 11, 300 * MS);
    allocs(3, 1);
    batch_at(&batch, 10, 400 * MS);
    allocs(4, 1);
    allocs(1, 5);
    batch_at(&batch, 10, 800 * MS);
    for (int i = 0; i < 6; i++)
        batch_free(&batch, 1, batch_fate(false, 0, 0));
    flush();
}

static void put_python(bool memory)
{
    static const char command[] = "python3\0-X\0dev\0" MAIN_PY "\0--fast";
    uint64_t words = trace_store_string(store, command, sizeof(command) - 1);

    trace_store_fact(store, TRACE_OF_RUN, 0, "command", "python3 app/main.py", 19);
    put_code();
    put_sources();
    PUT(TRACE_PROCESS, 1 * MS, NULL, 0, 1, 0, 100, 1, TRACE_BORN_LAUNCHED, text("python3"), words);
    PUT(TRACE_THREAD, 1 * MS, NULL, 0, 10, 1, 100, text("python3"));
    PUT(TRACE_THREAD, 90 * MS, NULL, 0, 11, 1, 101, text("blas"), 0, 0, S_DOT);
    PUT(TRACE_THREAD, 90 * MS, NULL, 0, 12, 1, 102, text("pool"), 0, 0, S_MAIN);
    put_time();
    if (memory)
        put_memory();
    PUT(TRACE_PROCESS_END, 1000 * MS, NULL, 0, 1, TRACE_END_EXITED, 0);
}

static void put_asked(void)
{
    put_python(true);
    PUT(TRACE_MARK, 900 * MS, NULL, 0, 10, TRACE_MARK_PROFILED, text(WORK_PY ":3:loop"));
}

/* ---- native ---- */

/* a.c:5 60 ms and 300 bytes; inl.h:3, inlined into a.c:7, 30 ms; a header of the system below a.c:9
 * 10 ms; a library alone 20 ms.
 */
static void put_native(void)
{
    static const char *const a_c[] = {"#include \"inl.h\"", "", "int main(void)", "{",
                                      "    work();",        "", "    inlined();", NULL};
    unsigned char tail[16];
    size_t used = batch_put_info(tail, 100, 2, TRACE_BY_MALLOC, 0);

    PUT(TRACE_MODULE, 0, NULL, 0, APP, text("/opt/app"), 0);
    PUT(TRACE_MODULE, 0, NULL, 0, LIBC, text("/lib/x86_64-linux-gnu/libc.so.6"), 0);
    for (uint64_t frame = 1; frame <= 4; frame++)
        PUT(TRACE_FRAME, 0, NULL, 0, frame, TRACE_FRAME_MODULE, frame == 4 ? LIBC : APP,
            0x10 * frame);
    PUT(TRACE_NAME, 0, NULL, 0, 1, 0, text("main"), text("/src/a.c"), 5);
    PUT(TRACE_NAME, 0, NULL, 0, 2, 0, text("inlined"), text("/src/inl.h"), 3);
    PUT(TRACE_NAME, 0, NULL, 0, 2, 1, text("main"), text("/src/a.c"), 7);
    PUT(TRACE_NAME, 0, NULL, 0, 3, 0, text("std::sort"), text("/usr/include/c++/12/sort.h"), 80);
    PUT(TRACE_NAME, 0, NULL, 0, 3, 1, text("main"), text("/src/a.c"), 9);
    PUT(TRACE_NAME, 0, NULL, 0, 4, 0, text("malloc"), text("malloc.c"), 3000);
    for (uint64_t stack = 1; stack <= 4; stack++)
        PUT(TRACE_STACK, 0, NULL, 0, stack, 0, stack);
    PUT(TRACE_STACK, 0, NULL, 0, 5, 1, 4); /* malloc below main */
    put_source("/src/a.c", a_c);
    PUT(TRACE_PROCESS, 1 * MS, NULL, 0, 1, 0, 100, 1, TRACE_BORN_LAUNCHED, text("app"),
        text("app"));
    PUT(TRACE_THREAD, 1 * MS, NULL, 0, 10, 1, 100, text("app"));
    cpu(10, 1, 5, 10, TRACE_CPU_NATIVE);
    cpu(10, 5, 1, 10, TRACE_CPU_NATIVE);
    cpu(10, 2, 3, 10, TRACE_CPU_NATIVE);
    cpu(10, 3, 1, 10, TRACE_CPU_NATIVE);
    cpu(10, 4, 2, 10, TRACE_CPU_SYSTEM);
    PUT(TRACE_INFOS, 0, tail, used, 1, 1, 1);
    batch_reset(&batch, 200 * MS);
    batch_at(&batch, 10, 200 * MS);
    allocs(1, 3);
    flush();
    PUT(TRACE_PROCESS_END, 1000 * MS, NULL, 0, 1, TRACE_END_EXITED, 0);
}

int main(int argc, char **argv)
{
    struct err err = {0};

    if (argc != 3)
        return 2;
    store = trace_store_create(argv[2], &err);
    if (!store)
        return fprintf(stderr, "%s\n", err.text), 1;
    if (strcmp(argv[1], "python") == 0)
        put_python(true);
    else if (strcmp(argv[1], "cpu") == 0)
        put_python(false);
    else if (strcmp(argv[1], "asked") == 0)
        put_asked();
    else if (strcmp(argv[1], "native") == 0)
        put_native();
    else
        return 2;
    return trace_store_close(store, &err) ? 1 : 0;
}
