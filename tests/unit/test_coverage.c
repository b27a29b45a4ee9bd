/* Coverage: who was not recorded is told once, by name where one is known. */
#include "check.h"

#include "trace/facts.h"
#include "trace/read.h"
#include "watch/coverage.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct told {
    uint64_t named, nameless; /* processes with a reason, and programs without a name */
    uint64_t last;            /* number of the last that is named */
};

static struct told end(struct coverage *c, uint64_t processes, const struct collect_account *a)
{
    struct told told = {0};
    struct err err = {0};
    struct trace_store *store;
    struct trace_event ev;
    struct trace *t;
    char path[64];

    snprintf(path, sizeof(path), "/tmp/tidemark-test-coverage.%d", (int)getpid());
    store = trace_store_create(path, &err);
    if (!CHECK(store != NULL))
        return told;
    coverage_end(c, store, processes, a);
    CHECK_EQ(trace_store_close(store, &err), 0);
    t = trace_open(path, &err);
    unlink(path);
    while (t && trace_next(t, &ev) > 0) {
        if (ev.kind == TRACE_FACT && ev.fact.subject == TRACE_OF_PROCESS) {
            told.named++;
            told.last = ev.fact.id;
        } else if (ev.kind == TRACE_LOSS && ev.loss.what == TRACE_LOST_PROGRAMS) {
            told.nameless += ev.loss.count;
        }
    }
    trace_close(t);
    return told;
}

static const struct collect_account two_static = {
    .whole = true, .started = 4, .came = 2, .prospects = {[RING_START_STATIC] = 2}};

/* Of a shell that starts two of these and a third that is recorded. */
static struct told shell(enum coverage_kind first, enum coverage_kind second)
{
    struct coverage c = {0};

    coverage_born(&c, 1, 0, 0, COVERAGE_IMAGE);
    coverage_claimed(&c, 1, "/bin/sh");
    coverage_born(&c, 2, 1, 0, first);
    coverage_born(&c, 3, 1, 0, second);
    coverage_born(&c, 4, 1, 0, COVERAGE_UNSURE);
    coverage_claimed(&c, 4, "/bin/ls");
    return end(&c, 4, &two_static);
}

static void test_a_process_is_not_missing_twice(void)
{
    struct told told = shell(COVERAGE_RENAMED, COVERAGE_RENAMED);

    CHECK_EQ(told.named, 2); /* by their exit records alone */
    CHECK_EQ(told.nameless, 0);
    told = shell(COVERAGE_IMAGE, COVERAGE_RENAMED);
    CHECK_EQ(told.named, 2);
    CHECK_EQ(told.nameless, 0);
    told = shell(COVERAGE_UNSURE, COVERAGE_UNSURE);
    CHECK_EQ(told.named, 0);
    CHECK_EQ(told.nameless, 2);
}

/* A copy of a process may have given itself another name: nothing is said of it without need. */
static void test_who_was_renamed_comes_last(void)
{
    struct coverage c = {0};
    struct collect_account one = {
        .whole = true, .started = 2, .came = 1, .prospects = {[RING_START_STATIC] = 1}};
    struct told told;

    coverage_born(&c, 1, 0, 0, COVERAGE_IMAGE);
    coverage_claimed(&c, 1, "/bin/sh");
    coverage_born(&c, 2, 1, 0, COVERAGE_RENAMED);
    coverage_born(&c, 3, 1, 0, COVERAGE_IMAGE);
    told = end(&c, 3, &one);
    CHECK_EQ(told.named, 1);
    CHECK_EQ(told.last, 3);
    CHECK_EQ(told.nameless, 0);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a process is not missing twice", test_a_process_is_not_missing_twice},
        {"who was renamed comes last", test_who_was_renamed_comes_last},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
