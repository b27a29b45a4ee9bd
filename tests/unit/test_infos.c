/* test_infos - what blocks share has one number, however many stacks, sizes and contexts there are.
 */
#include "collect/infos.h"

#include "base/count.h"
#include "check.h"

static uint32_t number_of(struct infos *f, struct infos_key key)
{
    uint32_t found = infos_find(f, &key);

    return found ? found : infos_add(f, &key, key.stack, 0);
}

static void test_each_pair_has_one_number(void)
{
    struct infos f = {0};

    for (int round = 0; round < 2; round++) {
        uint32_t expected = 0;

        for (uint32_t stack = 1; stack <= 20000; stack++) {
            for (uint64_t bytes = 1; bytes <= 1 + stack % 3; bytes++)
                CHECK_EQ(number_of(&f, (struct infos_key){bytes, stack, 0}), ++expected);
        }
        CHECK_EQ(f.count, expected);
    }
    infos_free(&f);
}

static void test_contexts_are_told_apart(void)
{
    struct infos f = {0};
    uint32_t none = number_of(&f, (struct infos_key){8, 1, 0});
    uint32_t first = number_of(&f, (struct infos_key){8, 1, 1});
    uint32_t second = number_of(&f, (struct infos_key){8, 1, 2});

    CHECK(none != first && first != second && none != second);
    CHECK_EQ(number_of(&f, (struct infos_key){8, 1, 0}), none);
    CHECK_EQ(number_of(&f, (struct infos_key){8, 1, 1}), first);
    CHECK_EQ(number_of(&f, (struct infos_key){8, 1, 2}), second);
    infos_free(&f);
}

/* Steps that have ended are forgotten: the table does not grow with them. */
static void test_ended_contexts_make_room(void)
{
    struct infos f = {0};

    for (uint32_t step = 1; step <= 500; step++) {
        f.stale = step;
        for (uint32_t stack = 1; stack <= 100; stack++) {
            uint32_t small = number_of(&f, (struct infos_key){1, stack, step});
            uint32_t large = number_of(&f, (struct infos_key){2, stack, step});

            CHECK(small != large);
            CHECK_EQ(number_of(&f, (struct infos_key){1, stack, step}), small);
            CHECK_EQ(number_of(&f, (struct infos_key){2, stack, step}), large);
        }
    }
    CHECK_EQ(f.count, 500 * 100 * 2);
    CHECK(f.mask < 4096);
    infos_free(&f);
}

static void test_numbers_beyond_a_program_are_no_harm(void)
{
    struct infos f = {0};
    uint32_t far = number_of(&f, (struct infos_key){1, UINT32_MAX, 0});

    CHECK_EQ(number_of(&f, (struct infos_key){1, UINT32_MAX, 0}), far);
    CHECK(number_of(&f, (struct infos_key){1, RING_STACKS_MOST, 0}) != far);
    CHECK(number_of(&f, (struct infos_key){1, RING_STACKS_MOST - 1, 0}) != far);
    CHECK_EQ(f.count, 3);
    infos_free(&f);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"each stack and size has one number", test_each_pair_has_one_number},
        {"contexts are told apart", test_contexts_are_told_apart},
        {"contexts that have ended make room", test_ended_contexts_make_room},
        {"numbers beyond a program's are no harm", test_numbers_beyond_a_program_are_no_harm},
    };

    return check_run(tests, COUNT(tests));
}
