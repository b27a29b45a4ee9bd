/* Programs whose blocks are known, sampled again and again: the truth lies within what is said. */
#include "check.h"

#include "model/heap_counts.h"

#include <math.h>
#include <stdlib.h>

#define RUNS 200

struct kind {
    uint64_t bytes, blocks;
};

struct program {
    const char *name;
    struct kind kinds[8];
};

static const struct program programs[] = {
    {"small", {{16, 200000}}},
    {"small and middling", {{1000, 20000}, {16, 20000}}},
    {"large and small", {{100000, 2000}, {16, 100000}}},
    {"a Python program", {{28, 30000}, {56, 40000}, {100, 10000}, {1000, 2000}, {100000, 50}}},
    {"words", {{8, 100000}, {64, 20000}, {4096, 2000}}},
    {"few", {{200, 5}, {3000, 5}}},
};

static uint64_t state;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)((state >> 11) + 1) / 9007199254740993.0;
}

/* As the library does it: an exponential distance, and each block pays its size and one. */
static void sample(struct heap_amount *a, const struct program *p, double mean)
{
    for (int i = 0; i < 8 && p->kinds[i].blocks; i++) {
        double size = (double)p->kinds[i].bytes + 1, weight = 1 / -expm1(-size / mean);

        for (double at = -log(uniform()) * mean; at < size * (double)p->kinds[i].blocks;) {
            a->milliblocks += (uint64_t)(weight * 1000 + 0.5);
            a->of_blocks += weight * (weight - 1);
            at = (floor(at / size) + 1) * size - log(uniform()) * mean;
        }
    }
}

static double truth_of(const struct program *p)
{
    double blocks = 0;

    for (int i = 0; i < 8; i++)
        blocks += (double)p->kinds[i].blocks;
    return blocks;
}

/* How many of the runs have the truth within one error, and two. A run without a sample says so. */
static void cover(const struct program *p, double mean, int *one, int *two)
{
    struct heap h = {.sampled = true, .mean = mean};

    *one = *two = 0;
    for (int i = 0; i < RUNS; i++) {
        struct heap_amount a = {0};
        double off, error;

        sample(&a, p, mean);
        off = fabs((double)a.milliblocks / 1000 - truth_of(p));
        error = heap_counts_error(&h, &a, HEAP_COUNTS_LEAST);
        error = error < 0 ? off : error / 100 * (double)a.milliblocks / 1000;
        *one += off <= error;
        *two += off <= 2 * error;
    }
}

static void test_errors_are_honest(void)
{
    static const double means[] = {16384, 131072, 524288};

    state = 88172645463325252ull;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        for (size_t k = 0; k < sizeof(means) / sizeof(means[0]); k++) {
            int one, two;

            cover(&programs[i], means[k], &one, &two);
            if (!CHECK(one >= RUNS * 60 / 100) || !CHECK(two >= RUNS * 93 / 100))
                printf("# %s, mean %.0f: %d and %d of %d\n", programs[i].name, means[k], one, two,
                       RUNS);
        }
}

static void test_many_samples_are_sure(void)
{
    struct heap h = {.sampled = true, .mean = 16384};
    struct heap_amount a = {0};

    sample(&a, &(struct program){"", {{100, 10000000}}}, h.mean);
    CHECK(heap_counts_error(&h, &a, HEAP_COUNTS_LEAST) < 1);
}

static void test_what_is_exact(void)
{
    struct heap exact = {.exact = true}, sampled = {.sampled = true, .mean = 1000};
    struct heap_amount none = {0}, some = {.bytes = 100, .milliblocks = 1000};

    CHECK(heap_counts_error(&exact, &some, 8) < 0);
    CHECK(heap_counts_error(&sampled, &none, 8) < 0);
    CHECK(fabs(heap_counts_error(&sampled, &some, 100000)) < 1e-9);
    CHECK_EQ(heap_counts_bound(&sampled), 3000);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"errors of counts are honest", test_errors_are_honest},
        {"many samples", test_many_samples_are_sure},
        {"exact", test_what_is_exact},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
