/* bound: the bounds hold for random histories whose true peak is computed second by second. */
#include "check.h"
#include "procs/bound.h"

#include <stdlib.h>

#define PROCESSES 12
#define MOMENTS 200

static void test_single(void)
{
    struct bound b = {0};

    bound_single(&b, 100);
    bound_sum(&b, 80);
    bound_interval(&b, 100, 0);
    CHECK_EQ(b.lower, 100);
    CHECK_EQ(bound_upper(&b), 100);
}

static void test_unknown(void)
{
    struct bound b = {0};

    bound_interval(&b, 50, 2); /* two ended unseen; the largest mark comes later */
    bound_interval(&b, 120, 0);
    bound_single(&b, 60);
    CHECK_EQ(b.lower, 60);
    CHECK_EQ(bound_upper(&b), 170);
}

static void test_open(void)
{
    struct bound b = {0};

    bound_single(&b, 1);
    bound_open(&b, "first");
    bound_open(&b, "second");
    CHECK_EQ(bound_upper(&b), UINT64_MAX);
    CHECK_STR(b.open, "first");
}

static void test_many_corners(void)
{
    struct bound b = {0};
    uint64_t most = 0;

    for (uint64_t i = 1; i <= 100; i++) { /* none dominates another */
        bound_interval(&b, 1000 - 7 * i, i);
        if (1000 - 7 * i + i * 20 > most)
            most = 1000 - 7 * i + i * 20;
    }
    bound_single(&b, 20);
    CHECK(b.count <= BOUND_CORNERS);
    CHECK(bound_upper(&b) >= most);
}

/* A process is born, grows and shrinks, and ends; it is sampled every `step` moments. */
struct history {
    uint64_t rss[MOMENTS];
    int born, ended;
};

static void make(struct history *h)
{
    *h = (struct history){.born = rand() % MOMENTS};
    h->ended = h->born + 1 + rand() % 80;
    if (h->ended > MOMENTS)
        h->ended = MOMENTS;
    for (int t = h->born; t < h->ended; t++)
        h->rss[t] = (uint64_t)(rand() % 4 ? rand() % 20 : rand() % 1000);
}

static uint64_t mark_at(const struct history *h, int t)
{
    uint64_t most = 0;

    for (int i = 0; i <= t && i < MOMENTS; i++)
        if (h->rss[i] > most)
            most = h->rss[i];
    return most;
}

static uint64_t true_peak(const struct history *h)
{
    uint64_t peak = 0;

    for (int t = 0; t < MOMENTS; t++) {
        uint64_t sum = 0;

        for (int i = 0; i < PROCESSES; i++)
            sum += h[i].rss[t];
        if (sum > peak)
            peak = sum;
    }
    return peak;
}

static void watch_history(struct bound *b, const struct history *h, int step)
{
    int last = -1;

    for (int t = step - 1; last < MOMENTS - 1; t += step) {
        uint64_t sum = 0, marks = 0, unknown = 0;

        if (t > MOMENTS - 1)
            t = MOMENTS - 1;
        for (int i = 0; i < PROCESSES; i++) {
            if (h[i].born <= t && t < h[i].ended) {
                sum += h[i].rss[t];
                marks += mark_at(&h[i], t);
            } else if (h[i].ended > last && h[i].ended <= t && h[i].born <= t) {
                unknown++; /* ended since the last sample, seen or not */
            }
        }
        bound_sum(b, sum);
        bound_interval(b, marks, unknown);
        last = t;
    }
    for (int i = 0; i < PROCESSES; i++)
        bound_single(b, mark_at(&h[i], MOMENTS - 1));
}

static void test_random_histories(void)
{
    struct history h[PROCESSES];

    srand(7);
    for (int round = 0; round < 2000; round++) {
        struct bound b = {0};
        uint64_t peak;

        for (int i = 0; i < PROCESSES; i++)
            make(&h[i]);
        peak = true_peak(h);
        watch_history(&b, h, 1 + round % 50);
        if (!CHECK(b.lower <= peak) || !CHECK(peak <= bound_upper(&b)))
            return;
    }
}

int main(void)
{
    static const struct check_test tests[] = {
        {"one process: exact", test_single},
        {"an end that nobody saw is at most the largest mark", test_unknown},
        {"no upper bound once it is open", test_open},
        {"more corners than are kept: still a bound", test_many_corners},
        {"2000 random histories lie within their bounds", test_random_histories},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
