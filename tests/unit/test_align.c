/* Two sequences matched in order: against the table of all lengths, which is slow and simple. */
#include "check.h"

#include "model/align.h"

#include <stdlib.h>

#define MOST 40

static size_t longest_common(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    size_t table[MOST + 1][MOST + 1] = {{0}};

    for (size_t i = 1; i <= n; i++)
        for (size_t k = 1; k <= m; k++)
            table[i][k] = a[i - 1] == b[k - 1]              ? table[i - 1][k - 1] + 1
                        : table[i - 1][k] > table[i][k - 1] ? table[i - 1][k]
                                                            : table[i][k - 1];
    return table[n][m];
}

/* How many are matched; SIZE_MAX: not in order, or of different numbers. */
static size_t matched(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    size_t partner[MOST + 1], count = 0, next = 0;

    if (!align(a, n, b, m, partner))
        return SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (partner[i] == ALIGN_NONE)
            continue;
        if (partner[i] < next || partner[i] >= m || a[i] != b[partner[i]])
            return SIZE_MAX;
        next = partner[i] + 1;
        count++;
    }
    return count;
}

static void as_many_are_matched_as_can_be(void)
{
    uint64_t a[MOST], b[MOST], seed = 1;

    for (int round = 0; round < 20000; round++) {
        size_t n, m;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        n = (size_t)(seed >> 33) % (MOST + 1);
        m = (size_t)(seed >> 45) % (MOST + 1);
        for (size_t i = 0; i < MOST; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            a[i] = (seed >> 40) % (2 + (uint64_t)round % 9);
            b[i] = (seed >> 52) % (2 + (uint64_t)round % 9);
        }
        if (!CHECK_EQ(matched(a, n, b, m), longest_common(a, n, b, m)))
            return;
    }
}

static void too_many_differences_are_said(void)
{
    size_t count = 3 * ALIGN_DIFFERENCES_MOST, matches = 0;
    uint64_t *a = calloc(count, sizeof(*a)), *b = calloc(count, sizeof(*b));
    size_t *partner = calloc(count, sizeof(*partner));

    for (size_t i = 0; i < count; i++) {
        a[i] = i < 100 ? 7 : 1000 + i; /* both have the same, the other way round */
        b[i] = i < 100 ? 7 : 1000 + count + 99 - i;
    }
    CHECK(!align(a, count, b, count, partner));
    for (size_t i = 0; i < count; i++)
        matches += partner[i] != ALIGN_NONE;
    CHECK_EQ(matches, 100);
    free(a);
    free(b);
    free(partner);
}

static void what_only_one_side_has_is_no_difference_too_many(void)
{
    size_t count = 3 * ALIGN_DIFFERENCES_MOST, matches = 0;
    uint64_t *a = calloc(count, sizeof(*a)), *b = calloc(count, sizeof(*b));
    size_t *partner = calloc(count, sizeof(*partner));

    for (size_t i = 0; i < count; i++) {
        a[i] = i % 100 ? 2 * i + 2 : 1;
        b[i] = i % 100 ? 2 * i + 3 : 1;
    }
    CHECK(align(a, count, b, count, partner));
    for (size_t i = 0; i < count; i++)
        matches += partner[i] == (i % 100 ? ALIGN_NONE : i);
    CHECK_EQ(matches, count);
    free(a);
    free(b);
    free(partner);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"as many are matched as can be", as_many_are_matched_as_can_be},
        {"too many differences are said", too_many_differences_are_said},
        {"what only one side has is no difference too many",
         what_only_one_side_has_is_no_difference_too_many},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
