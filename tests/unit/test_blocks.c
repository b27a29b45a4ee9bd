/* blocks: the table and a plain array of all addresses say the same over random histories. */
#include "check.h"
#include "collect/blocks.h"
#include "collect/owed.h"

#include <stdlib.h>

#define STEPS 400000u

static uint64_t seed;

static uint32_t dice(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

struct model {
    uint64_t (*address)(uint32_t i);
    uint32_t count;
    uint32_t *info; /* by i; 0: it does not live */
};

static bool same(struct blocks *b, const struct model *m, uint32_t i)
{
    const struct block *block = blocks_find(b, m->address(i));

    if (!m->info[i])
        return CHECK(!block);
    return CHECK(block) && CHECK_EQ(block->info, m->info[i]) && CHECK_EQ(block->order, i) &&
           CHECK_EQ(block->birth, ~i) && CHECK_EQ(block->thread, i & 0xffff);
}

static bool step(struct blocks *b, struct model *m, uint32_t live_percent)
{
    uint32_t i = dice(m->count), info = 1 + dice(1000);
    struct block *block;

    if (dice(100) < live_percent) {
        block = blocks_add(b, m->address(i));
        if (!CHECK_EQ(block->info, m->info[i]))
            return false;
        block->info = m->info[i] = info;
        block->order = i;
        block->birth = ~i;
        block->thread = i & 0xffff;
    } else if (m->info[i]) {
        blocks_remove(blocks_find(b, m->address(i)));
        m->info[i] = 0;
    }
    return same(b, m, i);
}

/* Few live, then many, then few: tables are renewed for the dead and grow for the living. */
static void history(uint64_t (*address)(uint32_t), uint32_t count)
{
    struct model m = {address, count, calloc(count, sizeof(uint32_t))};
    struct blocks b = {0};
    bool good = true;

    seed = count;
    for (uint32_t i = 0; i < STEPS && good; i++)
        good = step(&b, &m, i < STEPS / 3 ? 30 : i < STEPS / 3 * 2 ? 80 : 20);
    for (uint32_t i = 0; i < count && good; i++)
        good = same(&b, &m, i);
    blocks_free(&b);
    CHECK(!b.groups && !blocks_find(&b, address(0)));
    free(m.info);
}

static uint64_t dense(uint32_t i)
{
    return 0x555555550010u + (uint64_t)i * 32;
}

static uint64_t every_byte(uint32_t i)
{
    return 0x7fffffff0000u + i;
}

static uint64_t sparse(uint32_t i)
{
    return (uint64_t)i << 21 | 16;
}

static uint64_t scattered(uint32_t i)
{
    return (i * 0x9e3779b97f4a7c15u) >> 16;
}

static void test_dense(void)
{
    history(dense, 60000);
    history(dense, 3);
}

static void test_every_byte(void)
{
    history(every_byte, 70000);
}

static void test_sparse(void)
{
    history(sparse, 20000);
    history(scattered, 20000);
}

/* Memory follows the blocks that live, not how often they came and went. */
static void test_memory(void)
{
    struct blocks b = {0};

    for (uint32_t i = 0; i < STEPS; i++) {
        blocks_add(&b, dense(i % 5000))->info = 1;
        if (i >= 10)
            blocks_remove(blocks_find(&b, dense((i - 10) % 5000)));
    }
    CHECK(b.slab.bytes <= 256u << 10);
    blocks_free(&b);
    for (uint32_t i = 0; i < 100000; i++)
        blocks_add(&b, dense(i))->info = 1;
    CHECK(b.slab.bytes <= 100000u * 16 * 4);
    blocks_free(&b);
}

static void test_owed(void)
{
    struct block first = {.info = 1}, last = {.info = 2};
    struct owed o = {0};

    CHECK(!owed_settle(&o, 64));
    for (uint64_t i = 0; i < 100; i++)
        owed_add(&o, 64 + i * 16, &first);
    owed_add(&o, 64, &last);
    CHECK_EQ(o.count, 100);
    CHECK_EQ(o.list[0].block.info, 2);
    CHECK(owed_settle(&o, 64) && owed_settle(&o, 64) && !owed_settle(&o, 64));
    CHECK(owed_settle(&o, 80) && !owed_settle(&o, 80) && !owed_settle(&o, 72));
    owed_free(&o);
    CHECK(!owed_settle(&o, 96));
}

int main(void)
{
    static const struct check_test tests[] = {
        {"blocks side by side", test_dense}, {"blocks at every byte", test_every_byte},
        {"blocks far apart", test_sparse},   {"memory follows the living", test_memory},
        {"frees that are owed", test_owed},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
