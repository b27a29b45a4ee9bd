/* The texts and facts of a trace, and the places of its metrics. */
#include "check.h"

#include "model/metrics.h"
#include "model/names.h"

static struct arena arena;

static struct trace_event string(uint64_t number, const char *text)
{
    return (struct trace_event){.kind = TRACE_STRING,
                                .string = {number},
                                .tail = (const unsigned char *)text,
                                .tail_bytes = strlen(text)};
}

static struct trace_event fact(uint64_t subject, uint64_t id, uint64_t key, const char *text)
{
    struct trace_event ev = {.kind = TRACE_FACT, .tail = (const unsigned char *)text};

    ev.tail_bytes = strlen(text);
    ev.fact.subject = subject;
    ev.fact.id = id;
    ev.fact.key = key;
    return ev;
}

static void put(struct names *n, struct trace_event ev)
{
    if (ev.kind == TRACE_STRING)
        names_string(n, &ev);
    else
        names_fact(n, &ev);
}

static void test_strings(void)
{
    struct names n = {.arena = &arena};
    const char *kept;

    put(&n, string(1, "one"));
    put(&n, string(7, "seven"));
    CHECK_STR(names_get(&n, 1), "one");
    CHECK_STR(names_get(&n, 7), "seven");
    CHECK(names_get(&n, 0) == NULL);
    CHECK(names_get(&n, 2) == NULL);
    CHECK(names_get(&n, 1) == names_get(&n, 1)); /* kept once */
    kept = names_keep(&n, "ls\0-l", 5);
    CHECK_STR(kept, "ls -l");
    names_free(&n);
    CHECK(names_get(&n, 1) == NULL);
    CHECK_STR(kept, "ls -l"); /* texts stay */
    arena_free(&arena);
}

static void test_facts(void)
{
    struct names n = {.arena = &arena};
    uint64_t number = 0;

    put(&n, string(1, "cpus"));
    put(&n, string(2, "hostname"));
    put(&n, fact(TRACE_OF_MACHINE, 0, 1, "4"));
    put(&n, fact(TRACE_OF_MACHINE, 0, 2, "here"));
    put(&n, fact(TRACE_OF_MACHINE, 0, 1, "8"));
    put(&n, fact(TRACE_OF_PROCESS, 3, 2, "there"));
    put(&n, fact(TRACE_OF_MACHINE, 0, 9, "of a key that is not known"));
    CHECK_STR(names_find(&n, TRACE_OF_MACHINE, "hostname"), "here");
    CHECK_STR(names_find(&n, TRACE_OF_MACHINE, "cpus"), "8"); /* the last word counts */
    CHECK(names_find(&n, TRACE_OF_RUN, "cpus") == NULL);
    CHECK(names_find(&n, TRACE_OF_PROCESS, "hostname") == NULL); /* of one of them, not of all */
    CHECK(names_number(&n, TRACE_OF_MACHINE, "cpus", &number));
    CHECK_EQ(number, 8);
    CHECK(!names_number(&n, TRACE_OF_MACHINE, "hostname", &number));
    for (int i = 0; i < 1000; i++) /* a trace may not have any number of them */
        put(&n, fact(TRACE_OF_RUN, 0, 1, "1"));
    CHECK(n.fact_count < 1000);
    names_free(&n);
    arena_free(&arena);
}

static void test_text_has_a_limit(void)
{
    static char large[1 << 20];
    struct names n = {.arena = &arena, .file_bytes = 1 << 20};
    int kept = 0;

    memset(large, 'x', sizeof(large) - 1);
    while (kept < 1000 && names_keep(&n, large, sizeof(large) - 1))
        kept++;
    CHECK_EQ(kept, 95); /* 32 MiB, and 64 times its size */
    CHECK(names_keep(&n, large, sizeof(large) - 1) == NULL);
    arena_free(&arena);
}

static void test_metrics(void)
{
    struct metrics m = {0};
    uint64_t value = 0;

    CHECK(!metrics_get(&m, METRIC_RSS, &value));
    metrics_set(&m, metrics_place(METRIC_RSS), 5);
    CHECK(metrics_get(&m, METRIC_RSS, &value));
    CHECK_EQ(value, 5);
    CHECK(!metrics_get(&m, METRIC_VSZ, &value)); /* absent is not 0 */
    metrics_raise(&m, metrics_place(METRIC_RSS), 3);
    metrics_get(&m, METRIC_RSS, &value);
    CHECK_EQ(value, 5);
    metrics_raise(&m, metrics_place(METRIC_RSS), 9);
    metrics_raise(&m, metrics_place(METRIC_SWAP), 0);
    metrics_get(&m, METRIC_RSS, &value);
    CHECK_EQ(value, 9);
    CHECK(metrics_get(&m, METRIC_SWAP, &value) && value == 0);
}

static void test_metrics_have_their_subject(void)
{
    enum trace_unit unit;

    CHECK(metrics_belong(TRACE_OF_PROCESS, METRIC_RSS));
    CHECK(!metrics_belong(TRACE_OF_MACHINE, METRIC_RSS));
    CHECK(metrics_belong(TRACE_OF_MACHINE, METRIC_MACHINE_USED));
    CHECK(!metrics_belong(TRACE_OF_PROCESS, METRIC_MACHINE_USED));
    CHECK(!metrics_belong(TRACE_OF_PROCESS, 1u << 20));
    CHECK(metrics_counter(metrics_place(METRIC_CPU_NS)));
    CHECK(!metrics_counter(metrics_place(METRIC_RSS)));
    CHECK_STR(metrics_name(METRIC_RSS, &unit), "rss");
}

int main(void)
{
    static const struct check_test tests[] = {
        {"strings", test_strings},
        {"facts", test_facts},
        {"text has a limit", test_text_has_a_limit},
        {"metrics", test_metrics},
        {"metrics have their subject", test_metrics_have_their_subject},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
