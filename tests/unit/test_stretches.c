/* test_stretches - how far what spans say of an address reaches: the same as by asking for every
 * address. */
#include "namer/stretches.h"

#include "check.h"

#include <stdlib.h>

#define ADDRESSES 512

static uint32_t said(const struct spans *s, uint64_t address)
{
    uint32_t what;

    return spans_find(s, address, &what) ? what : SPANS_NOTHING;
}

static void make_spans(struct spans *s, struct arena *arena, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t low = 1 + (uint64_t)(rand() % ADDRESSES);

        spans_add(
            s, arena,
            (struct span){.low = low, .high = low + (uint64_t)(rand() % 20), .what = (uint32_t)i});
    }
    spans_sort(s);
}

static void test_random(void)
{
    for (int round = 0; round < 500; round++) {
        struct arena arena = {0};
        struct spans s = {0};
        struct stretch list[40] = {0};
        size_t count = (size_t)(rand() % 40);
        uint64_t at = 0;

        make_spans(&s, &arena, rand() % 60);
        for (size_t i = 0; i < count; i++)
            list[i].at = at += (uint64_t)(rand() % 30);
        stretches_find(&s, list, count);
        for (size_t i = 0; i < count; i++) {
            CHECK(list[i].low <= list[i].at && list[i].at < list[i].high);
            for (uint64_t a = list[i].low; a < list[i].high && a < 2 * ADDRESSES; a++)
                CHECK_EQ(said(&s, a), said(&s, list[i].at));
        }
        arena_free(&arena);
    }
}

static void test_neighbours(void)
{
    struct arena arena = {0};
    struct spans s = {0};
    struct stretch list[] = {{.at = 5}, {.at = 12}, {.at = 14}, {.at = 99}};

    spans_add(&s, &arena, (struct span){.low = 10, .high = 20, .what = 1});
    spans_add(&s, &arena, (struct span){.low = 20, .high = 30, .what = 2});
    spans_sort(&s);
    stretches_find(&s, list, 4);
    CHECK_EQ(list[0].low, 0);
    CHECK_EQ(list[0].high, 10);
    CHECK_EQ(list[1].low, 10);
    CHECK_EQ(list[1].high, 20);
    CHECK_EQ(list[2].low, 10);
    CHECK_EQ(list[2].high, 20);
    CHECK_EQ(list[3].low, 30);
    CHECK(list[3].high == UINT64_MAX);
    arena_free(&arena);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what is said is the same all along a stretch", test_random},
        {"stretches end where spans do", test_neighbours},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
