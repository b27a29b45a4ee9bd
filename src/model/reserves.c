/* reserves - see reserves.h. */
#include "model/reserves.h"

#include "base/absent.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define RESERVES_MOST ((size_t)1 << 20)

static struct reserve *add(struct reserves *r, struct reserve x)
{
    if (r->count == RESERVES_MOST) {
        r->left_out++;
        return NULL;
    }
    memory_fit(r->list, r->room, r->count + 1);
    r->list[r->count] = x;
    return &r->list[r->count++];
}

void reserves_take(struct reserves *r, struct threads *threads, const struct trace_event *ev)
{
    const struct trace_pool *p = &ev->pool;
    const struct threads_thread *t;

    if (ev->kind != TRACE_POOL || !(t = threads_find(threads, p->thread)))
        return;
    r->time_ns = ev->time_ns;
    add(r, (struct reserve){.process = t->process,
                            .address = p->address,
                            .bytes = p->bytes,
                            .blocks = ev->present > 3 ? p->blocks : ABSENT,
                            .used = ev->present > 4 ? p->used : ABSENT,
                            .largest_free = ev->present > 5 ? p->largest_free : ABSENT,
                            .requested = ev->present > 6 ? p->requested : ABSENT});
}

/* ---- of a pool that its program tells of ---- */

static void remove_told(struct reserves *r, uint64_t number)
{
    uint64_t place;

    if (!intmap_get(&r->places, number, &place) || !place)
        return;
    intmap_put(&r->places, number, 0);
    r->list[place - 1] = r->list[--r->count];
    if (place <= r->count)
        intmap_put(&r->places, r->list[place - 1].number, place);
}

uint64_t reserves_space_of(const struct space_list *spaces, const struct space_entry *pool)
{
    const char *name = strchr(pool->name, ':');

    for (size_t i = 0; name && i < spaces->count; i++) {
        const struct space_entry *x = &spaces->list[i];

        if (x->kind == TRACE_SPACE_RESERVED && strchr(x->name, ':') &&
            strcmp(strchr(x->name, ':'), name) == 0)
            return x->number;
    }
    return 0;
}

static bool is_reserved(const struct space_list *l, uint64_t space)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].number == space)
            return l->list[i].kind == TRACE_SPACE_RESERVED;
    return false;
}

void reserves_take_told(struct reserves *r, const struct space_list *spaces,
                        struct threads *threads, const struct trace_event *ev)
{
    const struct trace_space_alloc *a = &ev->space_alloc;
    uint64_t address = ev->present > 7 ? a->address : 0;
    const struct threads_thread *t;

    if (ev->kind == TRACE_SPACE_FREE)
        remove_told(r, ev->space_free.block);
    if (ev->kind != TRACE_SPACE_ALLOC || !is_reserved(spaces, a->space) ||
        !(t = threads_find(threads, a->thread)))
        return;
    if (add(r, (struct reserve){.process = t->process,
                                .address = address,
                                .bytes = a->bytes,
                                .stack = a->stack,
                                .end = address,
                                .number = a->block,
                                .space = a->space}))
        intmap_put(&r->places, a->block, r->count);
}

/* ---- of a recorded program ---- */

static void take_mapping(void *context, const struct mapping *m)
{
    if (m->kind == TRACE_MMAP_ARENA && !m->closed && !m->ended)
        add(context, (struct reserve){.process = m->process,
                                      .address = m->start,
                                      .bytes = m->end - m->start,
                                      .stack = m->stack,
                                      .end = m->start});
}

static int by_address(const void *a, const void *b)
{
    const struct reserve *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static int by_place(const void *a, const void *b)
{
    const struct reserve_block *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static struct reserve_block *list_blocks(const struct tensors *t,
                                         const struct tensors_moment *moment, size_t *count)
{
    struct reserve_block *list = memory_zeroed((t->count + 1) * sizeof(*list));

    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *x = &t->list[i];

        if (x->address && tensors_alive(moment, x))
            list[(*count)++] = (struct reserve_block){t->heap->processes[x->place - 1]->number,
                                                      x->address, x->bytes, x->sample};
    }
    return list;
}

static void leave_free(struct reserve *x, uint64_t up_to)
{
    if (x->largest_free != ABSENT && up_to > x->end && up_to - x->end > x->largest_free)
        x->largest_free = up_to - x->end;
}

/* A sample tells of the blocks that it stands for how many bytes they are, not where. */
static void put_in(struct reserve *x, const struct reserve_block *b)
{
    x->requested += b->bytes;
    if (b->sample) {
        x->largest_free = x->blocks = ABSENT;
        return;
    }
    leave_free(x, b->address);
    x->blocks += x->blocks != ABSENT;
    x->end = b->address + b->bytes;
}

static bool is_before(const struct reserve *x, const struct reserve_block *b)
{
    return x->process < b->process ||
           (x->process == b->process && b->address - x->address >= x->bytes &&
            b->address >= x->address);
}

static void fill(struct reserves *r, const struct reserve_block *list, size_t count)
{
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        while (at < r->count && is_before(&r->list[at], &list[i]))
            at++;
        if (at < r->count && r->list[at].process == list[i].process &&
            list[i].address >= r->list[at].address)
            put_in(&r->list[at], &list[i]);
    }
}

static void finish(struct reserve *x)
{
    x->used = ABSENT;
    leave_free(x, x->address + x->bytes);
    if (!x->blocks)
        x->blocks = x->requested = x->largest_free = ABSENT;
}

static void put_blocks_in(struct reserves *r, struct reserve_block *list, size_t count)
{
    memory_sort(list, count, sizeof(*list), by_place);
    memory_sort(r->list, r->count, sizeof(*r->list), by_address);
    fill(r, list, count);
}

static void put_alive_in(struct reserves *r, const struct tensors *t,
                         const struct tensors_moment *moment)
{
    size_t count = 0;
    struct reserve_block *list = list_blocks(t, moment, &count);

    put_blocks_in(r, list, count);
    free(list);
}

void reserves_find(struct reserves *r, const struct mappings *m, const struct tensors *t,
                   const struct tensors_moment *moment)
{
    mappings_each(m, take_mapping, r);
    put_alive_in(r, t, moment);
    for (size_t i = 0; i < r->count; i++)
        finish(&r->list[i]);
}

/* A block is as large as its pool has made it: what was asked for is not told. */
static void finish_told(struct reserves *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct reserve *x = &r->list[i];

        leave_free(x, x->address + x->bytes);
        x->used = x->requested;
        x->requested = ABSENT;
    }
}

void reserves_fill_blocks(struct reserves *r, struct reserve_block *list, size_t count)
{
    put_blocks_in(r, list, count);
    finish_told(r);
}

void reserves_fill_told(struct reserves *r, uint64_t space, const struct tensors *t,
                        const struct tensors_moment *moment)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].space == space)
            r->list[kept++] = r->list[i];
    r->count = kept;
    put_alive_in(r, t, moment);
    finish_told(r);
}

void reserves_free(struct reserves *r)
{
    free(r->list);
    intmap_free(&r->places);
    *r = (struct reserves){0};
}
