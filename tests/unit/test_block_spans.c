/* Which block holds an address: against a list that is looked through from end to end. */
#include "check.h"

#include "model/block_spans.h"

#include <stdbool.h>

#define SLOTS 20000 /* addresses of each of two processes */

static uint32_t holder[2][SLOTS]; /* by process and address: 1 + the block; 0: none */
static struct span of[200000];

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void forget(const struct span *x)
{
    for (uint64_t a = x->start; a < x->end; a++)
        if (holder[x->place - 1][a] == x->block + 1)
            holder[x->place - 1][a] = 0;
}

/* A block that another overlaps has ended, all of it. */
static void put(struct spans *s, struct span x)
{
    for (uint64_t a = x.start; a < x.end; a++)
        if (holder[x.place - 1][a])
            forget(&of[holder[x.place - 1][a] - 1]);
    for (uint64_t a = x.start; a < x.end; a++)
        holder[x.place - 1][a] = x.block + 1;
    of[x.block] = x;
    spans_add(s, x);
}

static bool is_same(const struct spans *s, uint32_t place, uint64_t address)
{
    const struct span *x = spans_find(s, place, address);
    uint32_t wanted = holder[place - 1][address];

    return x ? x->block + 1 == wanted : !wanted;
}

static void every_byte_is_of_the_block_that_holds_it(void)
{
    struct spans s = {0};
    uint64_t seed = 3;
    uint32_t blocks = 0;

    for (int round = 0; round < 150000; round++) {
        uint64_t start = 1 + next(&seed) % (SLOTS - 20);
        uint32_t place = 1 + (uint32_t)(next(&seed) % 2), victim;

        if (next(&seed) % 3 || !blocks) {
            put(&s, (struct span){start, start + 1 + next(&seed) % 9, place, blocks});
            blocks++;
        } else {
            victim = (uint32_t)(next(&seed) % blocks);
            victim = next(&seed) % 2 ? victim : blocks - 1 - victim % (blocks < 50 ? blocks : 50);
            forget(&of[victim]);
            spans_remove(&s, of[victim]);
        }
        if (!CHECK(is_same(&s, place, 1 + next(&seed) % (SLOTS - 2))))
            break;
    }
    for (uint32_t place = 1; place <= 2; place++)
        for (uint64_t a = 1; a < SLOTS; a++)
            CHECK(is_same(&s, place, a));
    CHECK(s.count > 4); /* several leaves were in it */
    spans_free(&s);
}

static void an_empty_one_holds_nothing(void)
{
    struct spans s = {0};

    CHECK(!spans_find(&s, 1, 5));
    spans_remove(&s, (struct span){5, 6, 1, 0});
    spans_add(&s, (struct span){5, 9, 1, 0});
    CHECK(spans_find(&s, 1, 8) && !spans_find(&s, 1, 9) && !spans_find(&s, 1, 4));
    CHECK(!spans_find(&s, 2, 8));
    spans_remove(&s, (struct span){5, 9, 1, 1}); /* another block that was there before */
    CHECK(spans_find(&s, 1, 5));
    spans_remove(&s, (struct span){5, 9, 1, 0});
    CHECK(!spans_find(&s, 1, 5));
    spans_free(&s);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"every byte is of the block that holds it", every_byte_is_of_the_block_that_holds_it},
        {"an empty one holds nothing", an_empty_one_holds_nothing},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
