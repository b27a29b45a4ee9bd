/* Probes: what one puts of processes and the machine is in the trace, each in its SAMPLE. */
#include "check.h"

#include "trace/read.h"
#include "watch/probing.h"

#include <unistd.h>

#define GIB (1ull << 30)

struct meter {
    int ticks;
};

static bool closed;

static void tick(void *state, const struct probe_sink *to)
{
    struct meter *m = state;

    m->ticks++;
    probe_put(to, TRACE_OF_CGROUP, 0, METRIC_CGROUP_CURRENT, (uint64_t)m->ticks * GIB);
    probe_put(to, TRACE_OF_CGROUP, 0, METRIC_CGROUP_PEAK, 8 * GIB);
    probe_put(to, TRACE_OF_CGROUP, 0, METRIC_CGROUP_OOM_KILLS, ABSENT);
    probe_put(to, TRACE_OF_MACHINE, 0, METRIC_MACHINE_SHARED, 5);
}

static void process(void *state, const struct proc *p, uint64_t number, const struct probe_sink *to)
{
    (void)state;
    probe_put(to, TRACE_OF_PROCESS, number, METRIC_SWAP, (uint64_t)p->pid);
}

static void close_meter(void *state)
{
    closed = ((const struct meter *)state)->ticks == 2;
}

static const struct probe meter = {
    .state = sizeof(struct meter), .tick = tick, .close = close_meter};
static const struct probe swap = {.process = process};
static const struct probe *const list[] = {&meter, &swap, NULL};

static struct trace *record(void)
{
    const struct trace_pair known = {METRIC_RSS, 7};
    const struct proc p = {.pid = 4711};
    struct probing probing;
    struct err err = {0};
    struct trace_store *store;
    struct trace *t;
    char path[64];

    snprintf(path, sizeof(path), "/tmp/tidemark-test-probing.%d", (int)getpid());
    store = trace_store_create(path, &err);
    if (!CHECK(store != NULL))
        return NULL;
    probing_begin(&probing, list, store);
    for (uint64_t time_ns = 1000; time_ns <= 2000; time_ns += 1000) {
        probing_process(&probing, time_ns, &p, 1, &known, 1);
        probing_tick(&probing, time_ns);
    }
    probing_end(&probing);
    CHECK_EQ(trace_store_close(store, &err), 0);
    t = trace_open(path, &err);
    unlink(path);
    CHECK(t != NULL);
    return t;
}

/* A sample has these pairs, in this order, and no other. */
static void check_pairs(struct trace_event *ev, const uint64_t (*want)[2])
{
    struct trace_pair pair;

    for (; (*want)[0]; want++) {
        CHECK(trace_next_pair(ev, &pair));
        CHECK_EQ(pair.metric, (*want)[0]);
        CHECK_EQ(pair.value, (*want)[1]);
    }
    CHECK(!trace_next_pair(ev, &pair));
}

static void test_what_is_put_is_in_the_trace(void)
{
    static const uint64_t of_process[][2] = {{METRIC_RSS, 7}, {METRIC_SWAP, 4711}, {0, 0}};
    static const uint64_t of_machine[][2] = {{METRIC_MACHINE_SHARED, 5}, {0, 0}};
    unsigned int processes = 0, samples = 0, machines = 0;
    struct trace *t = record();
    struct trace_event ev;

    while (t && trace_next(t, &ev) > 0) {
        uint64_t of_group[][2] = {
            {METRIC_CGROUP_CURRENT, (samples + 1) * GIB}, {METRIC_CGROUP_PEAK, 8 * GIB}, {0, 0}};

        if (ev.kind == TRACE_SAMPLE && ev.sample.subject == TRACE_OF_PROCESS) {
            check_pairs(&ev, of_process);
            processes++;
        } else if (ev.kind == TRACE_SAMPLE && ev.sample.subject == TRACE_OF_CGROUP) {
            check_pairs(&ev, (const uint64_t(*)[2])of_group);
            samples++;
        } else if (ev.kind == TRACE_SAMPLE && ev.sample.subject == TRACE_OF_MACHINE) {
            check_pairs(&ev, of_machine);
            machines++;
        }
    }
    CHECK_EQ(processes, 2);
    CHECK_EQ(samples, 2);
    CHECK_EQ(machines, 2);
    CHECK(closed);
    trace_close(t);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what is put is in the trace", test_what_is_put_is_in_the_trace},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
