/* live_blocks - see live_blocks.h. A sampled block stands for others, and is none of these. Blocks
 * of an exact recording have no addresses: of those of one size from one stack, the one dies whose
 * age fits.
 */
#include "model/live_blocks.h"

#include "base/hash.h"
#include "base/memory.h"
#include "model/allowed.h"

#include <stdlib.h>

#define BLOCKS_MOST ((size_t)1 << 24)
#define LOOK_MOST 4096 /* blocks that are looked at for the one whose age fits */

static uint64_t key_of(const struct heap_change *c, uint64_t born_ns)
{
    if (c->info)
        return hash_mix(hash_mix(1, c->place), c->info);
    return hash_mix(hash_mix(hash_mix(2, c->place), c->stack), born_ns);
}

static uint32_t new_place(struct live_blocks *l)
{
    uint32_t place = l->free;

    if (place) {
        l->free = l->list[place - 1].next;
        return place;
    }
    if (l->count >= BLOCKS_MOST || l->count >= ALLOWED_THINGS(l->heap->frames->names->file_bytes)) {
        l->left_out++;
        return 0;
    }
    memory_fit(l->list, l->room, l->count + 1);
    return (uint32_t)++l->count;
}

static void add(struct live_blocks *l, uint64_t key, const struct live_block *b)
{
    uint32_t place = new_place(l);
    uint64_t first = 0;

    if (!place)
        return;
    intmap_get(&l->places, key, &first);
    l->list[place - 1] = *b;
    l->list[place - 1].next = (uint32_t)first;
    intmap_put(&l->places, key, place);
}

static void take_birth(struct live_blocks *l, const struct heap_change *c)
{
    if (c->amount.variance > 0)
        return;
    add(l, key_of(c, c->time_ns),
        &(struct live_block){.bytes = c->bytes,
                             .born_ns = c->time_ns,
                             .born_no = c->number,
                             .stack = (uint32_t)c->stack,
                             .place = c->place});
}

/* The one that was born last of those whose age and size fit; where none does, the last of all. */
static uint32_t *find_dead(struct live_blocks *l, const struct heap_change *c, uint32_t *first)
{
    uint64_t from_ns = c->born_ns, to_ns = from_ns;
    uint32_t *at = first;

    if (c->info)
        heap_replay_born(c, &from_ns, &to_ns);
    for (int i = 0; *at && i < LOOK_MOST; i++, at = &l->list[*at - 1].next) {
        const struct live_block *b = &l->list[*at - 1];

        if (b->born_ns >= from_ns && b->born_ns <= to_ns && b->bytes == c->bytes)
            return at;
    }
    return first;
}

static void remove_one(struct live_blocks *l, uint64_t key, uint32_t *head, uint32_t *at)
{
    uint32_t place = *at;

    *at = l->list[place - 1].next;
    intmap_put(&l->places, key, *head);
    l->last = l->list[place - 1];
    l->last_key = key;
    l->list[place - 1] = (struct live_block){.next = l->free};
    l->free = place;
}

/* Of a mapping a part may go. */
static void take_death(struct live_blocks *l, const struct heap_change *c)
{
    uint64_t key = key_of(c, c->born_ns), first;
    uint32_t head, *at;

    if (!intmap_get(&l->places, key, &first) || !first)
        return;
    head = (uint32_t)first;
    at = find_dead(l, c, &head);
    if (!c->info && c->bytes < l->list[*at - 1].bytes)
        l->list[*at - 1].bytes -= c->bytes;
    else
        remove_one(l, key, &head, at);
}

static void take_back(struct live_blocks *l, const struct heap_change *c)
{
    if (!l->last.place || l->last_key != key_of(c, c->born_ns))
        return;
    add(l, l->last_key, &l->last);
    l->last.place = 0;
}

static void change(void *context, const struct heap_change *c)
{
    struct live_blocks *l = context;

    if (c->time_ns > l->time_ns || c->process->end_ns < l->time_ns)
        return;
    if (c->revived)
        take_back(l, c);
    else if (c->freed)
        take_death(l, c);
    else
        take_birth(l, c);
}

void live_blocks_want(struct live_blocks *l, struct heap *h, uint64_t time_ns)
{
    uint64_t until_ns = time_ns > UINT64_MAX - TRACE_BATCH_SPAN_MOST
                          ? UINT64_MAX
                          : time_ns + TRACE_BATCH_SPAN_MOST;

    *l = (struct live_blocks){.heap = h, .time_ns = time_ns};
    heap_replay_add(h->replay, change, l, until_ns);
}

/* ---- the first of them ---- */

bool live_blocks_larger(const struct live_block *a, const struct live_block *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : live_blocks_later(a, b);
}

bool live_blocks_later(const struct live_block *a, const struct live_block *b)
{
    return a->born_ns != b->born_ns ? a->born_ns > b->born_ns : a->born_no > b->born_no;
}

size_t live_blocks_first(const struct live_blocks *l, live_blocks_before *before, size_t most,
                         struct arena *a, const struct live_block ***out)
{
    const struct live_block **found = arena_alloc(a, (most + 1) * sizeof(*found));
    size_t count = 0, at;

    for (size_t i = 0; i < l->count; i++) {
        const struct live_block *b = &l->list[i];

        if (!b->place || (count == most && (!most || !before(b, found[most - 1]))))
            continue;
        count += count < most;
        for (at = count - 1; at && before(b, found[at - 1]); at--)
            found[at] = found[at - 1];
        found[at] = b;
    }
    *out = found;
    return count;
}

void live_blocks_free(struct live_blocks *l)
{
    intmap_free(&l->places);
    free(l->list);
    *l = (struct live_blocks){0};
}
