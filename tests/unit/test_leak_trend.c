/* What a stack held over a minute, in shapes that are easily confused, and what is said of it. */
#include "check.h"
#include "trace_help.h"

#include "model/leak_rows.h"

#include <math.h>

#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)
#define SURE 1000u /* thousandths of blocks that a record stands for: itself alone */
#define SAMPLED 50000u

static struct trace_store *store;
static uint64_t address;

static void put(enum trace_kind kind, uint64_t time_ns, const uint64_t *fields, size_t count)
{
    trace_store_put(store, kind, time_ns, fields, count, NULL, 0);
}

static void keep(double seconds, uint64_t weight)
{
    address += 64;
    put(TRACE_ALLOC, (uint64_t)(seconds * SECOND),
        HELP_FIELDS(10, address, 10000, 1, TRACE_BY_MALLOC, weight));
}

static void drop(double seconds, uint64_t which)
{
    put(TRACE_FREE, (uint64_t)(seconds * SECOND), HELP_FIELDS(10, which * 64, 0, 1));
}

static void even(double from, double to, int blocks, uint64_t weight)
{
    for (int i = 0; i < blocks; i++)
        keep(from + (to - from) * (i + 0.5) / blocks, weight);
}

static void bursts(void)
{
    for (int i = 0; i < 10; i++)
        even(6 * i + 3, 6 * i + 3.01, 100, SURE);
}

static void by_the_root(uint64_t weight, int blocks)
{
    for (int i = 0; i < blocks; i++)
        keep(1 + 58.9 * pow((i + 0.5) / blocks, 2), weight);
}

static void root(void)
{
    by_the_root(SURE, 400);
}

static void root_sampled(void)
{
    by_the_root(SAMPLED, 6);
}

static void cache(void)
{
    even(1, 20, 500, SURE);
}

static void cache_sampled(void)
{
    even(1, 20, 50, SAMPLED);
}

static void few_samples(void)
{
    even(1, 47, 5, SAMPLED);
}

static void two_at_once(void)
{
    even(3, 3.1, 2, SAMPLED);
}

/* Of a growth by the root of time, whose last samples are missing by a chance of one in thirty. */
static void root_cut_short(void)
{
    even(1, 38, 14, SAMPLED);
}

/* Another stack makes so much that samples stand for two hundred times as much from then on. */
static void churn_elsewhere(double from)
{
    for (int i = 0; i < 20; i++)
        put(TRACE_ALLOC, (uint64_t)((from + 2 * i) * SECOND),
            HELP_FIELDS(10, 0x60000000 + 64 * i, 10000, 2, TRACE_BY_MALLOC, 2000000));
}

static void root_beside_churn_that_begins_late(void)
{
    even(1, 20, 30, 10000);
    churn_elsewhere(20);
}

static void cache_before_churn(void)
{
    even(1, 3, 1000, 50000);
    churn_elsewhere(20);
}

static void cache_made_at_once(void)
{
    even(1, 3.5, 500, SURE);
}

static void one_sample(void)
{
    keep(3, SAMPLED);
}

static void made_once(void)
{
    keep(3, SURE);
}

static void made_at_the_end(void)
{
    keep(55, SURE);
}

static void two_bursts(void)
{
    even(20, 20.01, 7, SURE);
    even(50, 50.01, 3, SURE);
}

static void cache_after_imports(void)
{
    even(52, 54, 300, SURE);
}

static void leak_after_imports(void)
{
    even(52, 60, 300, SURE);
}

static void leak_that_begins_late(void)
{
    keep(1, SURE);
    even(54, 60, 300, SURE);
}

static void saw(void)
{
    for (uint64_t i = 0; i < 600; i++) {
        keep(0.1 * (double)i + 0.01, SURE);
        if (i % 70 == 69)
            for (uint64_t k = i - 69; k <= i; k++)
                drop(0.1 * (double)i + 0.05, k + 1);
    }
}

/* A vector that is filled evenly: each time that it is full it moves to one of twice the size. */
static void moves(void)
{
    uint64_t bytes = 1000;

    for (double at = 0.9; at < 60; at *= 2, bytes *= 2) {
        put(TRACE_ALLOC, (uint64_t)(at * SECOND),
            HELP_FIELDS(10, bytes * 64, bytes, 1, TRACE_BY_MALLOC, SURE));
        if (bytes > 1000)
            put(TRACE_FREE, (uint64_t)(at * SECOND) + 1000, HELP_FIELDS(10, bytes * 32, 0, 1));
    }
}

static void churn(void)
{
    for (uint64_t i = 0; i < 1200; i++) {
        keep(0.05 * (double)i, SURE);
        if (i >= 20)
            drop(0.05 * (double)i + 0.01, i - 20 + 1);
    }
}

static void steps(void)
{
    uint64_t name = trace_store_string(store, "batch", 5);

    for (uint64_t i = 0; i < 40; i++) {
        keep(10 + 0.25 * (double)i, SURE);
        put(TRACE_MARK, 10 * SECOND + i * (SECOND / 4) + SECOND / 8,
            HELP_FIELDS(10, TRACE_MARK_STEP, name, i));
    }
}

static void regions(void)
{
    uint64_t name = trace_store_string(store, "request", 7);

    for (uint64_t i = 0; i < 200; i++) {
        uint64_t at = 10 * SECOND + i * (SECOND / 20);

        put(TRACE_REGION, at, HELP_FIELDS(10, i + 1, name, 0));
        keep((double)(at + 1000) / SECOND, SURE);
        put(TRACE_REGION_END, at + SECOND / 40, HELP_FIELDS(10, i + 1));
    }
}

/* What is said of a minute in which `work` does this; another stack allocates throughout. */
static struct leak_verdict judge(void (*work)(void))
{
    const char *path = temporary("trend.tide");
    struct leak_verdict v = {0};
    struct leak_rows rows;
    struct recorded r;
    struct trace *t;
    struct err err;

    store = trace_store_create(path, &err);
    put(TRACE_FRAME, 0, HELP_FIELDS(1, TRACE_FRAME_ADDRESS, 1, 0x1000));
    put(TRACE_STACK, 0, HELP_FIELDS(1, 0, 1));
    put(TRACE_FRAME, 0, HELP_FIELDS(2, TRACE_FRAME_ADDRESS, 1, 0x2000));
    put(TRACE_STACK, 0, HELP_FIELDS(2, 0, 2));
    put(TRACE_PROCESS, 1, HELP_FIELDS(1, 0, 99, 7, TRACE_BORN_LAUNCHED, 0, 0));
    put(TRACE_THREAD, 1, HELP_FIELDS(10, 1, 99, 0));
    put(TRACE_ALLOC, 2, HELP_FIELDS(10, 0x70000000, 100, 2, TRACE_BY_MALLOC, SURE));
    address = 0;
    work();
    put(TRACE_PROCESS_END, MINUTE, HELP_FIELDS(1, TRACE_END_EXITED, 0));
    CHECK_EQ(trace_store_close(store, &err), 0);
    t = trace_open(path, &err);
    remove(path);
    if (!CHECK(t != NULL))
        return v;
    recorded_open(&r, t);
    recorded_read(&r, &(struct selection){0}, RECORDED_HEAP);
    leak_rows_want(&rows, &r, NULL);
    recorded_read_again(&r);
    leak_rows_read(&rows, NULL, 10);
    for (size_t i = 0; i < rows.rows.count; i++)
        if (rows.rows.rows[i].stack == 1)
            CHECK(leak_rows_judge(&rows, &rows.rows.rows[i], &v));
    leak_rows_free(&rows);
    recorded_close(&r);
    trace_close(t);
    return v;
}

static void test_what_grows(void)
{
    struct leak_verdict v = judge(bursts);

    CHECK_EQ(v.trend, LEAK_GROWING);
    CHECK(fabs(v.slope - 1e6 / 6) < 0.3e6 / 6);
    CHECK_EQ(judge(root).trend, LEAK_GROWING);
    v = judge(leak_after_imports);
    CHECK_EQ(v.trend, LEAK_GROWING);
    CHECK(fabs(v.slope - 3e6 / 8) < 0.2e6 / 8);
}

static void test_what_grows_in_a_part(void)
{
    struct leak_verdict v = judge(leak_that_begins_late);

    CHECK_EQ(v.trend, LEAK_GROWING);
    CHECK_EQ(v.within, LEAK_IN_LAST_PART);
    v = judge(steps);
    CHECK_EQ(v.trend, LEAK_GROWING);
    CHECK_EQ(v.within, LEAK_IN_STEPS);
    CHECK(fabs(v.slope - 40000) < 4000);
    v = judge(regions);
    CHECK_EQ(v.trend, LEAK_GROWING);
    CHECK_EQ(v.within, LEAK_IN_REGION);
}

static void test_what_does_not(void)
{
    CHECK_EQ(judge(cache).trend, LEAK_GREW_ONCE);
    CHECK_EQ(judge(cache_sampled).trend, LEAK_GREW_ONCE);
    CHECK_EQ(judge(cache_after_imports).trend, LEAK_GREW_ONCE);
    CHECK_EQ(judge(cache_before_churn).trend, LEAK_GREW_ONCE);
    CHECK_EQ(judge(cache_made_at_once).trend, LEAK_GREW_ONCE);
    CHECK_EQ(judge(made_once).trend, LEAK_GREW_ONCE);
    CHECK_EQ(judge(saw).trend, LEAK_STEADY);
    CHECK_EQ(judge(churn).trend, LEAK_STEADY);
}

static void test_what_too_few_points_say(void)
{
    CHECK_EQ(judge(few_samples).trend, LEAK_UNCLEAR);
    CHECK_EQ(judge(one_sample).trend, LEAK_UNCLEAR);
    CHECK_EQ(judge(root_sampled).trend, LEAK_UNCLEAR);
    CHECK_EQ(judge(root_beside_churn_that_begins_late).trend, LEAK_UNCLEAR);
    CHECK_EQ(judge(made_at_the_end).trend, LEAK_UNCLEAR);
    CHECK_EQ(judge(two_bursts).trend, LEAK_UNCLEAR);
    CHECK_EQ(judge(two_at_once).trend, LEAK_UNCLEAR);
    CHECK_EQ(judge(root_cut_short).trend, LEAK_UNCLEAR);
    CHECK_EQ(judge(moves).trend, LEAK_UNCLEAR);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what grows", test_what_grows},
        {"what grows in a part of the time", test_what_grows_in_a_part},
        {"what does not grow", test_what_does_not},
        {"too few points", test_what_too_few_points_say},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
