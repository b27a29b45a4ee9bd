/* Every metric of the format has a place of its own in the set of its subject. */
#include "check.h"

#include "model/metrics.h"

static const uint64_t numbers[] = {
#define X(name, number, text, unit, cumulative) number,
    TRACE_METRICS(X)
#undef X
};

#define SUBJECTS (TRACE_OF_CGROUP + 1)

static void test_kept(void)
{
    for (int i = 0; i < TRACE_METRIC_COUNT; i++) {
        struct metrics m = {0};
        uint64_t value = 0;

        CHECK(metrics_place(numbers[i]) < METRICS_ROOM);
        metrics_set(&m, metrics_place(numbers[i]), 42 + numbers[i]);
        CHECK(metrics_get(&m, (enum trace_metric)numbers[i], &value));
        CHECK_EQ(value, 42 + numbers[i]);
    }
}

static void test_apart(void)
{
    for (uint64_t subject = 0; subject < SUBJECTS; subject++)
        for (int i = 0; i < TRACE_METRIC_COUNT; i++)
            for (int j = 0; j < i; j++)
                CHECK(!metrics_belong(subject, numbers[i]) ||
                      !metrics_belong(subject, numbers[j]) ||
                      metrics_place(numbers[i]) != metrics_place(numbers[j]));
}

static void test_owned(void)
{
    for (int i = 0; i < TRACE_METRIC_COUNT; i++) {
        int owners = 0;

        for (uint64_t subject = 0; subject < SUBJECTS; subject++)
            owners += metrics_belong(subject, numbers[i]);
        CHECK(owners > 0);
    }
    CHECK(metrics_belong(TRACE_OF_DEVICE_USE, METRIC_DEVICE_USED));
    CHECK(!metrics_belong(TRACE_OF_PROCESS, METRIC_MACHINE_USED));
    CHECK(metrics_belong(TRACE_OF_RUN, METRIC_RSS) &&
          metrics_belong(TRACE_OF_RUN, METRIC_PEAK_PSS));
    CHECK(!metrics_belong(TRACE_OF_PROCESS, METRIC_PEAK_PSS));
}

static void test_later_versions(void)
{
    CHECK_EQ(metrics_place(63), METRICS_ROOM);
    CHECK_EQ(metrics_place(255), METRICS_ROOM);
    CHECK_EQ(metrics_place(UINT64_MAX), METRICS_ROOM);
    CHECK(!metrics_belong(99, METRIC_RSS));
}

int main(void)
{
    static const struct check_test tests[] = {
        {"every metric is kept", test_kept},
        {"two metrics of a subject have two places", test_apart},
        {"every metric has an owner", test_owned},
        {"metrics of later versions are left alone", test_later_versions},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
