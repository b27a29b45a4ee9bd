/* Two sequences of named and sized things: what is matched is in order, what has moved is the same,
 * and nothing is worse than by names alone.
 */
#include "check.h"

#include "model/align_sized.h"

#define MOST 30

struct two {
    uint64_t names[2][MOST], sizes[2][MOST];
    struct align_sized of[2];
    size_t partner[MOST + 1], moved[MOST + 1];
};

static uint64_t next_of(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void fill(struct two *t, uint64_t *seed, uint64_t names, uint64_t sizes)
{
    for (int side = 0; side < 2; side++) {
        t->of[side] = (struct align_sized){t->names[side], t->sizes[side],
                                           (size_t)(next_of(seed) % (MOST + 1))};
        for (size_t i = 0; i < MOST; i++) {
            t->names[side][i] = next_of(seed) % names;
            t->sizes[side][i] = 1 + next_of(seed) % sizes;
        }
    }
}

/* Each of the second is met once at the most; what is in order is, and what has moved is the same.
 */
static bool is_valid(const struct two *t)
{
    bool met[MOST] = {false};
    size_t next = 0;

    for (size_t i = 0; i < t->of[0].count; i++) {
        bool moved = t->partner[i] == ALIGN_NONE;
        size_t other = moved ? t->moved[i] : t->partner[i];

        if (other == ALIGN_NONE)
            continue;
        if (other >= t->of[1].count || met[other] || t->names[0][i] != t->names[1][other] ||
            (!moved && (other < next || t->moved[i] != ALIGN_NONE)) ||
            (moved && t->sizes[0][i] != t->sizes[1][other]))
            return false;
        met[other] = true;
        next = moved ? next : other + 1;
    }
    return true;
}

static void what_is_matched_is_in_order_and_what_has_moved_is_the_same(void)
{
    static struct two t;
    uint64_t seed = 1;

    for (uint64_t round = 0; round < 20000; round++) {
        fill(&t, &seed, 1 + round % 7, 1 + round % 5);
        if (!CHECK(align_sized(&t.of[0], &t.of[1], t.partner, t.moved)) || !CHECK(is_valid(&t)))
            return;
    }
}

/* Many that are called the same, one more at any place: it alone is left over. */
static void one_more_shifts_nobody(void)
{
    static struct two t;

    for (size_t place = 0; place < MOST; place++) {
        for (size_t i = 0; i < MOST; i++) {
            t.sizes[0][i] = 100 + i;
            t.sizes[1][i] = i == place ? 9 : 100 + i - (i > place);
        }
        t.of[0] = (struct align_sized){t.names[0], t.sizes[0], MOST - 1};
        t.of[1] = (struct align_sized){t.names[1], t.sizes[1], MOST};
        CHECK(align_sized(&t.of[0], &t.of[1], t.partner, t.moved));
        for (size_t i = 0; i + 1 < MOST; i++)
            if (!CHECK_EQ(t.partner[i], i + (i >= place)))
                return;
    }
}

static void all_that_grew_are_matched_with_themselves(void)
{
    static struct two t;

    for (size_t i = 0; i < MOST; i++) {
        t.sizes[0][i] = (uint64_t)10 << i % 4;
        t.sizes[1][i] = 2 * t.sizes[0][i];
    }
    for (int side = 0; side < 2; side++)
        t.of[side] = (struct align_sized){t.names[side], t.sizes[side], MOST};
    CHECK(align_sized(&t.of[0], &t.of[1], t.partner, t.moved));
    for (size_t i = 0; i < MOST; i++)
        if (!CHECK_EQ(t.partner[i], i))
            return;
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what is matched is in order and what has moved is the same",
         what_is_matched_is_in_order_and_what_has_moved_is_the_same},
        {"one more shifts nobody", one_more_shifts_nobody},
        {"all that grew are matched with themselves", all_that_grew_are_matched_with_themselves},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
