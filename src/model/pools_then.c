/* pools_then - see pools_then.h. */
#include "model/pools_then.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS_MOST ((size_t)1 << 24)

static bool is_pool(const struct pools_then *p, uint64_t space)
{
    for (size_t i = 0; i < p->spaces.count; i++)
        if (p->spaces.list[i].number == space)
            return p->spaces.list[i].kind == TRACE_SPACE_POOL;
    return false;
}

static void add(struct pools_then *p, uint64_t thread, uint64_t space, uint64_t number,
                struct reserve_block x)
{
    const struct threads_thread *t = threads_find(p->threads, thread);

    if (!t || !is_pool(p, space) || p->block_count == BLOCKS_MOST)
        return;
    x.process = t->process;
    memory_fit(p->blocks, p->block_room, p->block_count + 1);
    p->blocks[p->block_count++] = (struct pools_then_block){x, space, number};
    intmap_put(&p->places, number, p->block_count);
}

static void drop(struct pools_then *p, uint64_t number)
{
    uint64_t place;

    if (!intmap_get(&p->places, number, &place) || !place)
        return;
    intmap_put(&p->places, number, 0);
    p->blocks[place - 1] = p->blocks[--p->block_count];
    if (place <= p->block_count)
        intmap_put(&p->places, p->blocks[place - 1].number, place);
}

/* Those of the space that is asked about look as a heap's: see space_show. */
static void take_shown(struct pools_then *p, const struct trace_event *ev)
{
    if (ev->kind == TRACE_ALLOC && ev->alloc.origin == SPACE_ORIGIN)
        add(p, ev->alloc.thread, p->shown, ev->alloc.address,
            (struct reserve_block){.address = ev->fields[SPACE_ADDRESS_FIELD],
                                   .bytes = ev->alloc.bytes});
    else if (ev->kind == TRACE_FREE && ev->free.origin == SPACE_ORIGIN)
        drop(p, ev->free.address);
}

void pools_then_take(void *pools, const struct trace_event *ev)
{
    struct pools_then *p = pools;
    const struct trace_space_alloc *a = &ev->space_alloc;

    reserves_take_told(&p->segments, &p->spaces, p->threads, ev);
    if (p->shown)
        take_shown(p, ev);
    if (ev->kind == TRACE_SPACE_ALLOC)
        add(p, a->thread, a->space, a->block,
            (struct reserve_block){.address = ev->present > 7 ? a->address : 0, .bytes = a->bytes});
    else if (ev->kind == TRACE_SPACE_FREE)
        drop(p, ev->space_free.block);
}

static void copy_segments(struct reserves *out, const struct reserves *all, uint64_t space)
{
    *out = (struct reserves){.room = all->count};
    out->list = memory_zeroed((all->count + 1) * sizeof(*out->list));
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].space == space)
            out->list[out->count++] = all->list[i];
}

bool pools_then_of(const struct pools_then *p, const struct space_entry *pool, struct reserves *out)
{
    struct reserve_block *list = memory_zeroed((p->block_count + 1) * sizeof(*list));
    size_t count = 0;

    copy_segments(out, &p->segments, reserves_space_of(&p->spaces, pool));
    for (size_t i = 0; i < p->block_count; i++)
        if (p->blocks[i].space == pool->number)
            list[count++] = p->blocks[i].block;
    reserves_fill_blocks(out, list, count);
    free(list);
    if (!out->count)
        reserves_free(out);
    return out->count > 0;
}

void pools_then_free(struct pools_then *p)
{
    reserves_free(&p->segments);
    intmap_free(&p->places);
    free(p->blocks);
    *p = (struct pools_then){0};
}
