/* make_run_trace - traces as `tidemark run --record` writes them, with numbers that are known.
 *
 *   make_run_trace KIND FILE
 *
 * tests/cli/test_report.py knows what is in each kind, and what a report must say of it.
 */
#include "maker_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUARTER (MIB / 4)
#define PAIRS(...)                                                                                 \
    (struct trace_pair[]){__VA_ARGS__},                                                            \
        sizeof((struct trace_pair[]){__VA_ARGS__}) / sizeof(struct trace_pair)

static void fact(enum trace_subject subject, const char *key, const char *text)
{
    trace_store_fact(store, subject, 0, key, text, strlen(text));
}

static void process(uint64_t ms, uint64_t number, uint64_t parent, uint64_t pid, uint64_t ticks,
                    enum trace_born born, const char *name)
{
    static const char words[] = "a,\0\"b\""; /* as the kernel gives them */
    struct trace_process p = {number,
                              parent,
                              pid,
                              ticks,
                              born,
                              text(name),
                              trace_store_string(store, words, sizeof(words) - 1)};

    trace_store_put(store, TRACE_PROCESS, ms * MS, (uint64_t *)&p, 7, NULL, 0);
}

static void end(uint64_t ms, uint64_t number, enum trace_end how, uint64_t status)
{
    uint64_t fields[] = {number, how, status};

    trace_store_put(store, TRACE_PROCESS_END, ms * MS, fields, 3, NULL, 0);
}

static void sample(uint64_t ms, enum trace_subject subject, uint64_t id,
                   const struct trace_pair *pairs, size_t count)
{
    uint64_t fields[] = {subject, id};

    trace_store_put(store, TRACE_SAMPLE, ms * MS, fields, 2, pairs, count);
}

/* Memory in quarters of a MiB, CPU time in ms. */
static void use(uint64_t ms, uint64_t process_number, uint64_t rss, uint64_t vsz, uint64_t cpu)
{
    sample(
        ms, TRACE_OF_PROCESS, process_number,
        PAIRS({METRIC_RSS, rss * QUARTER}, {METRIC_VSZ, vsz * QUARTER}, {METRIC_CPU_NS, cpu * MS}));
}

static void tick(uint64_t ms, uint64_t rss, uint64_t vsz, uint64_t processes)
{
    sample(ms, TRACE_OF_RUN, 0,
           PAIRS({METRIC_RSS, rss * QUARTER}, {METRIC_VSZ, vsz * QUARTER},
                 {METRIC_PROCESSES, processes}));
}

static void head(void)
{
    fact(TRACE_OF_RUN, "version", "9.8.7");
    fact(TRACE_OF_RUN, "command", "make all");
    fact(TRACE_OF_RUN, "interval_ns", "100000000");
    fact(TRACE_OF_RUN, "mode", "sampled");
    fact(TRACE_OF_MACHINE, "cpus", "4");
    fact(TRACE_OF_MACHINE, "clock_ticks", "100");
    fact(TRACE_OF_MACHINE, "memory_total_bytes", "8589934592");
    fact(TRACE_OF_MACHINE, "hostname", "tide");
    fact(TRACE_OF_MACHINE, "kernel", "6.1");
}

static void machine(uint64_t ms, uint64_t used_mib, uint64_t busy_ms, uint64_t all_ms)
{
    sample(ms, TRACE_OF_MACHINE, 0,
           PAIRS({METRIC_MACHINE_TOTAL, 8192ull * MIB}, {METRIC_MACHINE_AVAILABLE, 5000ull * MIB},
                 {METRIC_MACHINE_USED, used_mib * MIB}, {METRIC_MACHINE_SWAP_TOTAL, 100ull * MIB},
                 {METRIC_MACHINE_SWAP_USED, 30ull * MIB}, {METRIC_MACHINE_CPU_BUSY, busy_ms * MS},
                 {METRIC_MACHINE_CPU_ALL, all_ms * MS}, {METRIC_MACHINE_READS, 7000 + ms},
                 {METRIC_MACHINE_WRITES, 8000 + ms}, {METRIC_MACHINE_READ_BYTES, 900ull * MIB},
                 {METRIC_MACHINE_WRITE_BYTES, 800ull * MIB + 5}));
}

/* Reads and writes as counters of process 1. */
static void io(uint64_t ms, uint64_t process_number, uint64_t calls, uint64_t quarters)
{
    sample(ms, TRACE_OF_PROCESS, process_number,
           PAIRS({METRIC_READ_CALLS, calls}, {METRIC_WRITE_CALLS, calls * 2},
                 {METRIC_READ_BYTES, quarters * QUARTER},
                 {METRIC_WRITE_BYTES, quarters * 2 * QUARTER}, {METRIC_MINOR_FAULTS, calls * 3},
                 {METRIC_MAJOR_FAULTS, calls / 2}, {METRIC_SWITCHES_WAITED, calls * 4},
                 {METRIC_SWITCHES_FORCED, calls * 5}, {METRIC_THREADS, 2}, {METRIC_SWAP, QUARTER}));
}

/* make starts cc and ld; cc ends well, ld is killed, make exits with 2. */
static void put_tree(void)
{
    head();
    process(0, 1, 0, 100, 5, TRACE_BORN_LAUNCHED, "make");
    use(100, 1, 42, 81, 50);
    io(100, 1, 10, 6);
    machine(100, 4000, 1000, 4000);
    tick(100, 42, 81, 1);
    process(150, 2, 1, 101, 6, TRACE_BORN_FORKED, "cc");
    use(200, 1, 43, 81, 60);
    use(200, 2, 123, 200, 20);
    io(200, 2, 4, 7);
    machine(200, 4100, 1100, 4400);
    tick(200, 166, 281, 2);
    process(250, 3, 1, 102, 7, TRACE_BORN_FORKED, "ld");
    use(300, 1, 43, 81, 60);
    use(300, 2, 202, 204, 100);
    use(300, 3, 20, 40, 10);
    machine(300, 4200, 1400, 4800);
    tick(300, 265, 325, 3);
    sample(350, TRACE_OF_PROCESS, 2, PAIRS({METRIC_RSS_PEAK, 240 * QUARTER}));
    end(350, 2, TRACE_END_EXITED, 0);
    use(400, 1, 43, 81, 70);
    use(400, 3, 28, 40, 40);
    machine(400, 3900, 1500, 5200);
    tick(400, 71, 121, 2);
    end(450, 3, TRACE_END_SIGNALED, 9);
    end(500, 1, TRACE_END_EXITED, 2);
}

static void put_final(void)
{
    uint64_t alert[] = {2, METRIC_RSS, 40 * MIB, 60 * MIB}, loss[] = {3, 1, 12, 4096};

    fact(TRACE_OF_RUN, "peak_basis", "sums of the kernel's marks");
    fact(TRACE_OF_RUN, "outcome", "exited with 2");
    trace_store_put(store, TRACE_ALERT, 300 * MS, alert, 4, "the tree crossed 40 MiB", 23);
    trace_store_put(store, TRACE_LOSS, 460 * MS, loss, 4, "a process was too short to be seen", 34);
    sample(500, TRACE_OF_CGROUP, 0, PAIRS({METRIC_CGROUP_PEAK, 77 * MIB}));
    sample(500, TRACE_OF_RUN, 0,
           PAIRS({METRIC_PEAK_LOWER, 265 * QUARTER}, {METRIC_PEAK_UPPER, 303 * QUARTER},
                 {METRIC_PEAK_PSS, 60 * MIB}, {METRIC_VSZ_PEAK, 325 * QUARTER},
                 {METRIC_EXIT_STATUS, 2}, {METRIC_CPU_NS, 250 * MS}, {METRIC_USER_NS, 200 * MS},
                 {METRIC_SYSTEM_NS, 50 * MS}, {METRIC_MINOR_FAULTS, 1234567},
                 {METRIC_MAJOR_FAULTS, 8}));
}

static void put_full(void)
{
    put_tree();
    put_final();
}

/* No more than facts and a process that came and went between two ticks. */
static void put_instant(void)
{
    head();
    process(0, 1, 0, 100, 5, TRACE_BORN_LAUNCHED, "true");
    end(1, 1, TRACE_END_EXITED, 0);
    sample(1, TRACE_OF_RUN, 0,
           PAIRS({METRIC_PEAK_LOWER, MIB}, {METRIC_PEAK_UPPER, MIB}, {METRIC_EXIT_STATUS, 0}));
}

static void put_nothing(void)
{
}

/* A shell that becomes a program: the counters of a process go on over exec. */
static void put_exec(void)
{
    head();
    process(0, 1, 0, 100, 5, TRACE_BORN_LAUNCHED, "sh");
    use(100, 1, 8, 9, 40);
    io(100, 1, 10, 6);
    tick(100, 8, 9, 1);
    end(150, 1, TRACE_END_EXECED, 0);
    process(150, 2, 1, 100, 5, TRACE_BORN_EXECED, "prog");
    use(200, 2, 4, 5, 70);
    io(200, 2, 15, 7);
    tick(200, 4, 5, 1);
    end(300, 2, TRACE_END_OOM, 9);
}

/* Attached to a process that had run for 10 s and burned 5 s; later another is found. */
static void put_found(void)
{
    struct timespec now;
    uint64_t hundredths;

    clock_gettime(CLOCK_MONOTONIC, &now);
    hundredths = (uint64_t)now.tv_sec * 100 + (uint64_t)now.tv_nsec / 10000000;
    head();
    fact(TRACE_OF_RUN, "watched_pids", "100");
    process(0, 1, 0, 100, hundredths - 1000, TRACE_BORN_FOUND, "server");
    use(0, 1, 8, 9, 5000);
    tick(0, 8, 9, 1);
    process(100, 2, 1, 101, hundredths - 500, TRACE_BORN_FOUND, "worker");
    use(100, 1, 8, 9, 5030);
    use(100, 2, 8, 9, 3000);
    tick(100, 16, 18, 2);
    use(200, 2, 8, 9, 3050);
    tick(200, 16, 18, 2);
    end(200, 1, TRACE_END_OUTLIVED, 0);
    end(200, 2, TRACE_END_OUTLIVED, 0);
}

/* 20 000 ticks of 40 MiB, and in one of them 1000 MiB. */
static void put_long(void)
{
    head();
    process(0, 1, 0, 100, 5, TRACE_BORN_LAUNCHED, "long");
    for (uint64_t i = 1; i <= 20000; i++) {
        uint64_t rss = i == 12345 ? 4000 : 160;

        use(i * 10, 1, rss, 5000, i);
        tick(i * 10, rss, 5000, 1);
    }
    end(200001, 1, TRACE_END_EXITED, 0);
}

/* A root with 10 children with 9 children each; process n peaks at n MiB. */
static void put_wide(void)
{
    uint64_t number = 1;

    head();
    process(0, 1, 0, 1000, 5, TRACE_BORN_LAUNCHED, "root");
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t parent = ++number;

        process(i, parent, 1, 1000 + parent, 6, TRACE_BORN_FORKED, "child");
        use(100, parent, parent * 4, 1000, 1);
        for (int k = 0; k < 9; k++) {
            number++;
            process(i, number, parent, 1000 + number, 7, TRACE_BORN_FORKED, "grandchild");
            use(100, number, number * 4, 1000, 1);
        }
    }
    tick(100, 9000, 9000, number);
}

/* What a hostile program could be called, and numbers from nowhere. */
static void put_odd(void)
{
    head();
    process(0, 1ull << 60, 12345, 100, 5, TRACE_BORN_LAUNCHED, "\033[31mred\n\302\233x\377");
    process(1, 7, 7, 100, 5, TRACE_BORN_FORKED, "its own parent");
    process(1, 7, 1, 100, 5, TRACE_BORN_FORKED, "twice");
    use(2, 99, 1, 1, 1);
    sample(2, TRACE_OF_PROCESS, 7, PAIRS({METRIC_MACHINE_USED, 5}, {1000, 5}, {METRIC_RSS, 5}));
    sample(2, TRACE_OF_DEVICE, 3, PAIRS({METRIC_DEVICE_USED, 5}));
    sample(2, 77, 3, PAIRS({METRIC_DEVICE_USED, 5}));
    end(3, 500, TRACE_END_EXITED, 0);
    end(3, 7, (enum trace_end)77, 0);
    tick(4, 1, 1, 1);
    tick(4, 2, 2, 1);
    end(5, 7, TRACE_END_EXITED, 0);
}

static void put_any(uint64_t time_ns)
{
    static const enum trace_kind kinds[] = {
        TRACE_STRING, TRACE_FACT,  TRACE_PROCESS, TRACE_PROCESS, TRACE_SAMPLE,     TRACE_SAMPLE,
        TRACE_SAMPLE, TRACE_ALERT, TRACE_LOSS,    TRACE_DEVICE,  TRACE_PROCESS_END};
    enum trace_kind kind = kinds[random() % 11];
    const struct trace_shape *shape = trace_shape_of(kind);
    uint64_t fields[TRACE_FIELDS_MOST];
    struct trace_pair pairs[30];
    size_t count = (size_t)(random() % 31);

    for (int i = 0; i < shape->fields; i++)
        fields[i] = any_below(12);
    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct trace_pair){(uint64_t)(random() % 200), any_below(12)};
    trace_store_put(store, kind, time_ns, fields, random() % 4 ? shape->fields : shape->fields - 1u,
                    shape->tail == TRACE_TAIL_PAIRS ? (void *)pairs : "tail, \"\n", count % 9);
}

static void put_random(void)
{
    uint64_t time_ns = 0;

    head();
    for (long i = 0, n = 100 + random() % 3000; i < n; i++) {
        time_ns = random() % 50 ? time_ns + any_below(12) % (1000 * MS) : any_below(12);
        put_any(time_ns);
        if (random() % 5 == 0)
            tick(time_ns / MS, any_below(12), any_below(12), any_below(12));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*put)(void);
        int open; /* leave it without an end, as a recorder that was killed does */
    } kinds[] = {
        {"full", put_full, 0},       {"open", put_tree, 1}, {"instant", put_instant, 0},
        {"nothing", put_nothing, 0}, {"exec", put_exec, 0}, {"found", put_found, 0},
        {"long", put_long, 0},       {"wide", put_wide, 0}, {"odd", put_odd, 0},
        {"random", put_random, 0},
    };
    struct err err = {0};
    size_t name = argc == 3 ? strcspn(argv[1], "-") : 0; /* "random-SEED" */

    if (argc == 3 && argv[1][name] == '-')
        srandom((unsigned int)atoi(argv[1] + name + 1));

    for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strlen(kinds[i].name) != name || strncmp(kinds[i].name, argv[1], name) != 0)
            continue;
        store = trace_store_create(argv[2], &err);
        if (!store)
            break;
        kinds[i].put();
        trace_store_flush(store);
        if (kinds[i].open)
            _exit(0);
        if (trace_store_close(store, &err))
            break;
        return 0;
    }
    fprintf(stderr, "make_run_trace: %s\n", err.text[0] ? err.text : "KIND FILE");
    return 1;
}
