/* pool_blocks - see pool_blocks.h. */
#include "model/pool_blocks.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/search.h"

#include <stdlib.h>

#define BLOCKS_MOST ((size_t)1 << 22)

struct pool_block {
    uint64_t born_ns, freed_ns; /* UINT64_MAX: never */
    uint64_t bytes;             /* that it stands for */
    uint32_t stack, line, owner;
};

static uint64_t key_of(uint64_t process, uint64_t address)
{
    return hash_mix(hash_mix(11, process), address);
}

void pool_blocks_freed(struct pool_blocks *b, uint64_t process, const struct trace_event *ev)
{
    uint64_t key = key_of(process, ev->free.address), place;

    if (!intmap_get(&b->live, key, &place) || !place)
        return;
    b->list[place - 1].freed_ns = ev->time_ns;
    intmap_put(&b->live, key, 0);
}

size_t pool_blocks_born(struct pool_blocks *b, uint64_t process, const struct trace_event *ev)
{
    uint64_t milli = ev->present >= 6 && ev->alloc.weight ? ev->alloc.weight : 1000;
    unsigned __int128 bytes = (unsigned __int128)ev->alloc.bytes * milli / 1000;

    if (b->count == BLOCKS_MOST)
        return SIZE_MAX;
    memory_fit(b->list, b->room, b->count + 1);
    b->list[b->count] = (struct pool_block){.born_ns = ev->time_ns,
                                            .freed_ns = UINT64_MAX,
                                            .bytes = (uint64_t)bytes & UINT64_MAX >> 8,
                                            .stack = (uint32_t)ev->alloc.stack};
    intmap_put(&b->live, key_of(process, ev->alloc.address), ++b->count);
    return b->count - 1;
}

void pool_blocks_give(struct pool_blocks *b, size_t place, uint32_t line, uint32_t owner)
{
    b->list[place].line = line;
    b->list[place].owner = owner;
}

static int by_stack(const void *left, const void *right)
{
    const struct pool_share *l = left, *r = right;

    if (l->stack != r->stack)
        return l->stack < r->stack ? -1 : 1;
    return l->line < r->line ? -1 : l->line > r->line;
}

static struct pool_share *share_of(struct pool_blocks *b, struct intmap *places, uint32_t stack,
                                   uint32_t line, uint32_t owner)
{
    uint64_t key = (uint64_t)stack << 32 | line, place;

    if (!intmap_get(places, key, &place)) {
        memory_fit(b->shares, b->share_room, b->share_count + 1);
        place = b->share_count++;
        b->shares[place] = (struct pool_share){.stack = stack, .line = line, .owner = owner};
        intmap_put(places, key, place);
    }
    return &b->shares[place];
}

static void add_groups(struct pool_blocks *b, struct intmap *places, const struct pool_groups *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct pool_group *one = &g->list[i];
        struct pool_share *share = share_of(b, places, one->stack, one->line, one->owner);

        share->allocated += one->allocated;
        share->at_peak += one->at_peak;
        share->alive += one->live;
    }
}

void pool_blocks_end(struct pool_blocks *b, const struct pool_groups *groups, uint64_t peak_ns)
{
    struct intmap places = {0};

    for (size_t i = 0; i < b->count; i++) {
        const struct pool_block *block = &b->list[i];
        struct pool_share *share = share_of(b, &places, block->stack, block->line, block->owner);

        share->allocated += block->bytes;
        share->at_peak += block->born_ns <= peak_ns && block->freed_ns > peak_ns ? block->bytes : 0;
        share->alive += block->freed_ns == UINT64_MAX ? block->bytes : 0;
    }
    add_groups(b, &places, groups);
    memory_sort(b->shares, b->share_count, sizeof(*b->shares), by_stack);
    intmap_free(&places);
}

size_t pool_blocks_of(const struct pool_blocks *b, uint64_t stack, const struct pool_share **shares)
{
    size_t low = 0, count = 0;

    SEARCH(low, b->share_count, i, b->shares[i].stack < stack);
    while (low + count < b->share_count && b->shares[low + count].stack == stack)
        count++;
    *shares = count ? b->shares + low : NULL;
    return count;
}

void pool_blocks_free(struct pool_blocks *b)
{
    free(b->list);
    free(b->shares);
    intmap_free(&b->live);
}
