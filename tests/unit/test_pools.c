/* Whose work a thread does that has no line of the program: a program whose lines call a library of
 * native code with workers, threads of a package that run Python, and another process. Times are in
 * milliseconds.
 */
#include "check.h"

#include "model/heap_pass.h"
#include "model/pools.h"

#define MAIN "/home/u/app/main.py"
#define POOL "/usr/lib/python3/dist-packages/pool.py"
#define THREAD "/usr/lib/python3.11/concurrent/futures/thread.py"
#define BASE "/usr/lib/python3.11/concurrent/futures/_base.py"
#define QUEUES "/usr/lib/python3.11/multiprocessing/queues.py"
#define MP_POOL "/usr/lib/python3.11/multiprocessing/pool.py"
#define MS 1000000ull

enum { M_BLAS = 1, M_OTHER, M_LIBC };
enum {
    LINE_A = 1, /* lines of the program */
    LINE_B,
    LINE_C,
    IMPORT,
    LIB_START, /* start_thread */
    SERVER,    /* blas_thread_server */
    FN_A,      /* what the workers do for A, and for B */
    FN_B,
    ENTRY, /* how Python comes into the library */
    OTHER,
    WORKER, /* a pool's loop, of threads and of processes */
    TASK,
    RESULT,
    MP_WORKER,
    GET,
    MADE_1, /* code that the program made itself */
    MADE_2,
};

static struct arena arena;
static struct names names;
static struct frames frames;
static struct scope scope;
static struct blame blame;
static struct threads threads;
static struct run run;
static struct cpu_time whole;
static struct pools pools;
static struct heap_process only = {.end_ns = UINT64_MAX};
static struct heap_process *processes[] = {&only};
static struct heap heap = {.processes = processes, .process_count = 1};
static uint64_t strings, stacks;

static uint64_t text(const char *t)
{
    struct trace_event ev = {.kind = TRACE_STRING, .tail = (const unsigned char *)t};

    for (uint64_t i = 1; i <= strings; i++)
        if (strcmp(names_get(&names, i), t) == 0)
            return i;
    ev.string.string = ++strings;
    ev.tail_bytes = strlen(t);
    names_string(&names, &ev);
    return strings;
}

static void put(enum trace_kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    struct trace_event ev = {.kind = kind, .present = 5, .fields = {a, b, c, d, e}};

    frames_take(&frames, &ev);
}

static void put_python(uint64_t frame, const char *function, const char *file, uint64_t line)
{
    put(TRACE_FRAME, frame, TRACE_FRAME_PYTHON, 0, 1, 0);
    put(TRACE_NAME, frame, 0, text(function), text(file), line);
}

static void put_native(uint64_t frame, uint64_t module, const char *function)
{
    put(TRACE_FRAME, frame, TRACE_FRAME_MODULE, module, 0x100 * frame, 0);
    put(TRACE_NAME, frame, 0, text(function), 0, 0);
}

/* The outermost first, 0 at the end. */
static uint64_t stack_of(const uint64_t *list)
{
    uint64_t parent = 0;

    for (; *list; list++) {
        put(TRACE_STACK, ++stacks, parent, *list, 0, 0);
        parent = stacks;
    }
    return parent;
}
#define STACK(...) stack_of((const uint64_t[]){__VA_ARGS__, 0})

static void put_thread(uint64_t number, uint64_t process, uint64_t tid, uint64_t creator)
{
    struct trace_event ev = {
        .kind = TRACE_THREAD, .time_ns = MS, .thread = {number, process, tid, 0, 0, 0, creator}};

    threads_take(&threads, &ev);
}

/* Threads: 1 and 2 run the program; 3 is native, 4 of a package; 5 is the first of a child. */
enum { FIRST = 1, SECOND, NATIVE, PACKAGE, CHILD };
static uint64_t in_a, in_b, in_c, call_a, call_b, call_c, import_a, work_a, work_b, spin,
    other_work;
static uint64_t waits_b, waits_c, task, idle, child_task, child_idle, start_a, start_import,
    call_made, made_work;

static void put_stacks(void)
{
    in_a = STACK(LINE_A);
    in_b = STACK(LINE_B);
    in_c = STACK(LINE_C);
    call_a = STACK(LINE_A, ENTRY, FN_A);
    call_b = STACK(LINE_B, ENTRY, FN_B);
    call_c = STACK(LINE_C, ENTRY);
    import_a = STACK(LINE_A, IMPORT, ENTRY, SERVER);
    work_a = STACK(LIB_START, SERVER, FN_A);
    work_b = STACK(LIB_START, SERVER, FN_B);
    spin = STACK(LIB_START, SERVER);
    other_work = STACK(LIB_START, OTHER);
    waits_b = STACK(LINE_B, RESULT);
    waits_c = STACK(LINE_C, RESULT);
    task = STACK(WORKER, TASK);
    idle = STACK(WORKER);
    child_task = STACK(MP_WORKER, TASK);
    child_idle = STACK(LINE_A, MP_WORKER, GET);
    start_a = STACK(LINE_A, TASK);
    start_import = STACK(LINE_A, IMPORT);
    call_made = STACK(LINE_B, MADE_1);
    made_work = STACK(MADE_2);
}

static void put_code(void)
{
    put(TRACE_MODULE, M_BLAS, text("/usr/lib/libopenblas.so.0"), 0, 0, 0);
    put(TRACE_MODULE, M_OTHER, text("/usr/lib/libother-1.2.so"), 0, 0, 0);
    put(TRACE_MODULE, M_LIBC, text("/usr/lib/libc.so.6"), 0, 0, 0);
    put_python(LINE_A, "<module>", MAIN, 1);
    put_python(LINE_B, "<module>", MAIN, 2);
    put_python(LINE_C, "<module>", MAIN, 3);
    put_python(IMPORT, "_find_and_load", "<frozen importlib._bootstrap>", 1000);
    put_native(LIB_START, M_LIBC, "start_thread");
    put_native(SERVER, M_BLAS, "blas_thread_server");
    put_native(FN_A, M_BLAS, "a._omp_fn.0");
    put_native(FN_B, M_BLAS, "b._omp_fn.0");
    put_native(ENTRY, M_BLAS, "cblas_dgemm");
    put_native(OTHER, M_OTHER, "elsewhere");
    put(TRACE_FRAME, MADE_1, TRACE_FRAME_ADDRESS, 1, 0x7000, 0);
    put(TRACE_FRAME, MADE_2, TRACE_FRAME_ADDRESS, 1, 0x7100, 0);
    put_python(WORKER, "_worker", THREAD, 80);
    put_python(TASK, "task", POOL, 5);
    put_python(RESULT, "result", BASE, 450);
    put_python(MP_WORKER, "worker", MP_POOL, 114);
    put_python(GET, "get", QUEUES, 365);
}

static void put_run(void)
{
    static struct run_process parent = {.number = 1, .pid = 100}, child = {.number = 2, .pid = 200};
    static struct run_process *list[] = {&parent, &child};

    child.parent = &parent;
    run = (struct run){.processes = list, .process_count = 2};
}

static void make(void)
{
    strings = stacks = 0;
    names = (struct names){.arena = &arena};
    frames = (struct frames){.names = &names};
    threads = (struct threads){.names = &names};
    scope = (struct scope){.arena = &arena};
    whole = (struct cpu_time){.most = 1000};
    put_code();
    put_stacks();
    put_run();
    put_thread(FIRST, 1, 100, 0);
    put_thread(SECOND, 1, 101, in_c);
    put_thread(NATIVE, 1, 102, start_import);
    put_thread(PACKAGE, 1, 103, start_a);
    put_thread(CHILD, 2, 200, 0);
    blame_read(&blame, &frames, &scope);
    cpu_time_take(&whole, &(struct trace_event){.kind = TRACE_CPU,
                                                .cpu = {FIRST, in_a, MS, TRACE_CPU_PYTHON}});
    pools_start(&pools, &blame, &whole, &threads, &run, &heap, &arena);
}

static void drop(void)
{
    pools_free(&pools);
    blame_free(&blame);
    scope_free(&scope);
    cpu_time_free(&whole);
    threads_free(&threads);
    frames_free(&frames);
    names_free(&names);
    arena_free(&arena);
}

static void cpu(uint64_t ms, uint64_t thread, uint64_t stack)
{
    struct trace_event ev = {.kind = TRACE_CPU,
                             .present = 4,
                             .time_ns = ms * MS,
                             .cpu = {thread, stack, MS, TRACE_CPU_NATIVE}};

    pools_take(&pools, &ev);
}

/* It is told when it ends. */
static void waited(uint64_t from, uint64_t to, uint64_t thread, uint64_t stack, uint64_t cause)
{
    struct trace_event ev = {.kind = TRACE_WAIT,
                             .present = 4,
                             .time_ns = to * MS,
                             .wait = {thread, stack, (to - from) * MS, cause}};

    pools_take(&pools, &ev);
}

/* Milliseconds of CPU time that the pools gave to a line of the program, or to a kind of no line.
 */
static uint64_t got(uint64_t line)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < pools.entry_count; i++) {
        uint32_t is = pools.entries[i].line;

        if (is >= SCOPE_KINDS && blame.lines[is].line == line)
            ns += pools.entries[i].sums.ns;
    }
    return ns / MS;
}

static uint64_t got_kind(enum scope_kind kind, bool waits)
{
    uint64_t ns = 0;

    for (size_t i = 0; i < pools.entry_count; i++)
        if (pools.entries[i].line == (uint32_t)kind)
            ns += waits ? pools.entries[i].sums.wait_ns : pools.entries[i].sums.ns;
    return ns / MS;
}

static void test_a_worker_belongs_to_the_line_that_is_in_its_library_now(void)
{
    make();
    cpu(100, FIRST, call_a);
    cpu(101, NATIVE, work_a);
    cpu(104, FIRST, call_a);
    cpu(500, FIRST, call_b);
    cpu(501, NATIVE, spin); /* also what it does between two pieces of work */
    cpu(502, NATIVE, work_b);
    cpu(504, FIRST, call_b);
    pools_end(&pools);
    CHECK_EQ(got(1), 1);
    CHECK_EQ(got(2), 2);
    drop();
}

static void test_two_at_once_are_told_apart_by_the_parallel_function(void)
{
    make();
    for (uint64_t ms = 100; ms < 200; ms += 4) {
        cpu(ms, FIRST, call_a);
        cpu(ms, NATIVE, ms % 8 ? work_a : work_b); /* however near the other one is */
        cpu(ms + 2, SECOND, call_b);
    }
    pools_end(&pools);
    CHECK_EQ(got(1), 13);
    CHECK_EQ(got(2), 12);
    drop();
}

static void test_a_thread_that_waits_in_the_library_is_in_it(void)
{
    make();
    cpu(100, FIRST, call_b);
    cpu(110, SECOND, call_c); /* that line calls another function of it */
    for (uint64_t ms = 120; ms < 140; ms++)
        cpu(ms, NATIVE, work_b);
    waited(102, 150, FIRST, in_b, TRACE_WAIT_LOCK);
    cpu(151, SECOND, call_c);
    pools_end(&pools);
    CHECK_EQ(got(2), 20);
    drop();
}

static void test_work_for_somebody_who_only_waits_for_it_is_his(void)
{
    make();
    cpu(120, NATIVE, other_work);
    cpu(121, SECOND, in_c); /* runs, but not there */
    waited(100, 150, FIRST, in_b, TRACE_WAIT_LOCK);
    waited(200, 300, FIRST, in_b, TRACE_WAIT_SLEEP);
    cpu(250, NATIVE, other_work); /* nobody waits for this */
    pools_end(&pools);
    CHECK_EQ(got(2), 1);
    CHECK_EQ(got_kind(SCOPE_WORKERS, false), 1);
    drop();
}

static void test_code_that_was_made_at_run_time_is_one_library(void)
{
    make();
    cpu(100, FIRST, call_made);
    cpu(101, NATIVE, made_work); /* where no stack goes on */
    cpu(102, FIRST, call_made);
    cpu(103, SECOND, in_c);
    cpu(5000, NATIVE, made_work); /* nobody is in such code then */
    pools_end(&pools);
    CHECK_EQ(got(2), 1);
    CHECK_EQ(got_kind(SCOPE_WORKERS, false), 1);
    CHECK_STR(pools.libraries, "code without a file");
    drop();
}

static void test_a_worker_that_nobody_calls_is_no_line_s_and_never_an_import_s(void)
{
    make();
    cpu(100, FIRST, import_a);
    cpu(101, NATIVE, spin);
    cpu(102, FIRST, import_a);
    cpu(5000, FIRST, call_b); /* too late */
    pools_end(&pools);
    CHECK_EQ(got(1) + got(2), 0);
    CHECK_EQ(got_kind(SCOPE_WORKERS, false), 1);
    CHECK_STR(pools.libraries, "libopenblas");
    drop();
}

static void test_a_thread_of_a_package_works_for_who_started_it_then_for_who_waits(void)
{
    make();
    cpu(110, PACKAGE, task); /* before anybody waits */
    cpu(150, PACKAGE, task);
    waited(120, 200, FIRST, waits_b, TRACE_WAIT_LOCK); /* for what line 1 has given it */
    cpu(250, PACKAGE, task);
    cpu(251, PACKAGE, task);
    waited(210, 300, FIRST, waits_c, TRACE_WAIT_LOCK); /* line 3 has given it something new */
    pools_end(&pools);
    CHECK_EQ(got(1), 2);
    CHECK_EQ(got(3), 2);
    drop();
}

static void test_a_native_worker_of_such_a_thread_works_for_the_same_line(void)
{
    make();
    cpu(150, NATIVE, other_work);
    waited(100, 200, PACKAGE, task, TRACE_WAIT_LOCK); /* in native code of the package */
    waited(90, 300, FIRST, waits_c, TRACE_WAIT_LOCK);
    pools_end(&pools);
    CHECK_EQ(got(1), 1); /* that started it, and nobody has waited elsewhere */
    drop();
}

static void test_a_child_works_for_the_line_of_its_parent_that_waits(void)
{
    make();
    cpu(150, CHILD, child_task);
    waited(100, 200, FIRST, waits_b, TRACE_WAIT_SLEEP); /* looks again and again */
    cpu(250, CHILD, child_task);
    waited(210, 300, FIRST, in_a, TRACE_WAIT_SLEEP); /* sleeps on its own account */
    pools_end(&pools);
    CHECK_EQ(got(2), 1);
    CHECK_EQ(got(1), 0);
    drop();
}

static void test_a_child_that_nobody_waits_for_works_for_the_line_that_started_it(void)
{
    struct trace_event born = {
        .kind = TRACE_PROCESS, .time_ns = 100 * MS, .process = {2, 1, 200, 0, 0, 0, 0}};

    make();
    cpu(98, FIRST, in_c);
    pools_take(&pools, &born);
    cpu(600, FIRST, in_a);
    cpu(601, CHILD, child_task);
    pools_end(&pools);
    CHECK_EQ(got(3), 1);
    drop();
}

static void start(uint64_t ms, uint64_t pid, uint64_t stack)
{
    struct trace_event ev = {
        .kind = TRACE_STARTED, .time_ns = ms * MS, .present = 3, .started = {FIRST, pid, stack}};

    pools_take(&pools, &ev);
}

static void test_a_process_is_the_line_s_that_says_it_started_it_wherever_others_were_then(void)
{
    struct trace_event born = {
        .kind = TRACE_PROCESS, .time_ns = 100 * MS, .process = {2, 1, 200, 0, 0, 0, 0}};

    make();
    start(40, 200, in_a); /* an earlier process of this pid */
    cpu(98, FIRST, in_a);
    pools_take(&pools, &born);
    start(102, 200, in_c); /* told when it had begun */
    start(110, 201, in_a);
    waited(100, 600, FIRST, waits_b, TRACE_WAIT_CHILD); /* for another one */
    cpu(500, CHILD, child_task);
    pools_end(&pools);
    CHECK_EQ(got(3), 1);
    drop();
}

static void test_threads_without_work_wait_for_no_line(void)
{
    make();
    waited(100, 600, NATIVE, spin, TRACE_WAIT_LOCK);
    waited(100, 600, PACKAGE, idle, TRACE_WAIT_LOCK);
    waited(100, 600, CHILD, child_idle, TRACE_WAIT_IO); /* forked: below a line of its parent */
    waited(100, 600, NATIVE, work_a, TRACE_WAIT_QUEUE); /* but this one wants to run */
    cpu(590, FIRST, call_a);
    cpu(601, FIRST, call_a);
    pools_end(&pools);
    CHECK_EQ(got_kind(SCOPE_IDLE, true), 1500);
    CHECK_EQ(got_kind(SCOPE_WORKERS, true), 0);
    drop();
}

/* A free is of the thread's own blocks: the sums of each line go up and down by them. */
static void test_exact_blocks_belong_to_the_line_that_waited_when_they_were_made(void)
{
    struct heap_state state = {.part = {.events = 6}}; /* up to the peak */
    struct heap_process process = {.state = &state};
    struct heap_pass pass = {.together = {.epoch = 1}};
    struct heap_change c = {
        .process = &process, .place = 1, .info = 4, .stack = task, .bytes = 100, .thread = PACKAGE};
    static const uint64_t born[] = {110, 150, 250};
    const struct pool_share *shares;

    make();
    heap.pass = &pass;
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            waited(120, 200, FIRST, waits_b, TRACE_WAIT_LOCK);
        c.time_ns = born[i] * MS;
        pools_take_exact(&pools, &c);
        c.number++;
        pools_take_exact(&pools, &c);
        c.number++;
    }
    waited(210, 300, FIRST, waits_c, TRACE_WAIT_LOCK);
    heap.peak_ns = 300 * MS;
    c.time_ns = 300 * MS; /* in the tick of the peak, but after it */
    c.freed = true;
    for (int i = 0; i < 3; i++, c.number++)
        pools_take_exact(&pools, &c);
    pools_end(&pools);
    if (CHECK_EQ(pool_blocks_of(&pools.blocks, task, &shares), 2)) {
        CHECK_EQ(blame.lines[shares[0].line].line, 1);
        CHECK_EQ(shares[0].allocated, 400);
        CHECK_EQ(shares[0].at_peak, 400);
        CHECK_EQ(shares[0].alive, 300);
        CHECK_EQ(blame.lines[shares[1].line].line, 3);
        CHECK_EQ(shares[1].at_peak, 200);
        CHECK_EQ(shares[1].alive, 0);
    }
    drop();
}

static void test_blocks_belong_to_the_line_that_waited_when_they_were_made(void)
{
    static const uint64_t born[] = {110, 150, 250}, bytes[] = {100, 200, 400};
    const struct pool_share *shares;

    make();
    for (int i = 0; i < 3; i++) {
        struct trace_event ev = {.kind = TRACE_ALLOC,
                                 .present = 6,
                                 .time_ns = born[i] * MS,
                                 .alloc = {PACKAGE, 0x1000 * (uint64_t)i, bytes[i], task, 0, 2000}};

        if (i == 2) /* line 1 started it, line 2 waits for that; line 3 gives it something new */
            waited(120, 200, FIRST, waits_b, TRACE_WAIT_LOCK);
        pools_take(&pools, &ev);
    }
    waited(210, 300, FIRST, waits_c, TRACE_WAIT_LOCK);
    pools_take(&pools, &(struct trace_event){
                           .kind = TRACE_FREE, .time_ns = 400 * MS, .free = {PACKAGE, 0x1000}});
    heap.peak_ns = 300 * MS;
    pools_end(&pools);
    CHECK_EQ(pool_blocks_of(&pools.blocks, in_a, &shares), 0);
    if (CHECK_EQ(pool_blocks_of(&pools.blocks, task, &shares), 2)) {
        CHECK_EQ(blame.lines[shares[0].line].line, 1);
        CHECK_EQ(shares[0].allocated, 600); /* each stands for two */
        CHECK_EQ(shares[0].at_peak, 600);
        CHECK_EQ(shares[0].alive, 200);
        CHECK_EQ(blame.lines[shares[1].line].line, 3);
        CHECK_EQ(shares[1].alive, 800);
    }
    drop();
}

static void test_what_has_lines_is_left_alone(void)
{
    make();
    CHECK(!pools_own(&pools, threads_find(&threads, FIRST), in_a));
    CHECK(!pools_own(&pools, threads_find(&threads, SECOND), call_b));
    CHECK(!pools_own(&pools, threads_find(&threads, FIRST),
                     spin)); /* the first thread has no creator */
    CHECK(!pools_own(&pools, threads_find(&threads, NATIVE), 0));
    CHECK(!pools_own(&pools, NULL, work_a));
    CHECK(pools_own(&pools, threads_find(&threads, NATIVE), work_a));
    CHECK(pools_own(&pools, threads_find(&threads, PACKAGE), task));
    drop();
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a worker belongs to the line that is in its library now",
         test_a_worker_belongs_to_the_line_that_is_in_its_library_now},
        {"two at once are told apart by the parallel function",
         test_two_at_once_are_told_apart_by_the_parallel_function},
        {"a thread that waits in the library is in it",
         test_a_thread_that_waits_in_the_library_is_in_it},
        {"work for somebody who only waits for it is his",
         test_work_for_somebody_who_only_waits_for_it_is_his},
        {"a worker that nobody calls is no line's and never an import's",
         test_a_worker_that_nobody_calls_is_no_line_s_and_never_an_import_s},
        {"code that was made at run time is one library",
         test_code_that_was_made_at_run_time_is_one_library},
        {"a thread of a package works for who started it then for who waits",
         test_a_thread_of_a_package_works_for_who_started_it_then_for_who_waits},
        {"a native worker of such a thread works for the same line",
         test_a_native_worker_of_such_a_thread_works_for_the_same_line},
        {"a child works for the line of its parent that waits",
         test_a_child_works_for_the_line_of_its_parent_that_waits},
        {"a child that nobody waits for works for the line that started it",
         test_a_child_that_nobody_waits_for_works_for_the_line_that_started_it},
        {"a process is the line's that says it started it, wherever others were then",
         test_a_process_is_the_line_s_that_says_it_started_it_wherever_others_were_then},
        {"threads without work wait for no line", test_threads_without_work_wait_for_no_line},
        {"blocks belong to the line that waited when they were made",
         test_blocks_belong_to_the_line_that_waited_when_they_were_made},
        {"exact blocks belong to the line that waited when they were made",
         test_exact_blocks_belong_to_the_line_that_waited_when_they_were_made},
        {"what has lines is left alone", test_what_has_lines_is_left_alone},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
