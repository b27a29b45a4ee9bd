/* stacktree - see stacktree.h. The index is of open addressing, at most half full. A place is the upper
 * bits of the half hash that it holds, so that a larger index is filled from end to end, without a look
 * at the nodes. Where a stack goes is known to this process alone: see intmap.
 */
#include "collect/stacktree.h"

#include "base/intmap.h"
#include "base/memory.h"

#include <stdlib.h>

#define FIRST_BITS 10

static uint32_t hash_of(uint32_t parent, uint32_t frame)
{
    return (uint32_t)(intmap_hash((uint64_t)parent << 32 | frame) >> 32);
}

static size_t place_of(const struct stacktree *t, uint32_t hash)
{
    return hash >> (32 - t->bits);
}

static size_t next_place(const struct stacktree *t, size_t place)
{
    return (place + 1) & (((size_t)1 << t->bits) - 1);
}

static void insert(struct stacktree *t, uint64_t entry)
{
    size_t i = place_of(t, (uint32_t)(entry >> 32));

    while (t->index[i])
        i = next_place(t, i);
    t->index[i] = entry;
}

static void grow(struct stacktree *t)
{
    uint64_t *old = t->index;
    size_t places = old ? (size_t)1 << t->bits : 0;

    t->bits = old ? t->bits + 1 : FIRST_BITS;
    t->index = memory_zeroed(sizeof(*t->index) << t->bits);
    for (size_t i = 0; i < places; i++) {
        if (old[i])
            insert(t, old[i]);
    }
    free(old);
}

static bool is_child(const struct stacktree *t, uint32_t number, uint32_t parent, uint32_t frame)
{
    return number <= t->count && t->nodes[number].parent == parent &&
           t->nodes[number].frame == frame;
}

/* 0: it is not in the index. */
static uint32_t find(const struct stacktree *t, uint32_t parent, uint32_t frame, uint32_t hash)
{
    if (!t->index)
        return 0;
    for (size_t i = place_of(t, hash); t->index[i]; i = next_place(t, i)) {
        if (t->index[i] >> 32 == hash && is_child(t, (uint32_t)t->index[i], parent, frame))
            return (uint32_t)t->index[i];
    }
    return 0;
}

static uint32_t add(struct stacktree *t, uint32_t parent, uint32_t frame)
{
    memory_fit(t->nodes, t->room, (size_t)t->count + 2);
    t->nodes[++t->count] = (struct stacktree_node){parent, frame};
    return t->count;
}

uint32_t stacktree_child(struct stacktree *t, uint32_t parent, uint32_t frame, bool *added)
{
    uint32_t hash, number;

    *added = false;
    if (is_child(t, parent + 1, parent, frame))
        return parent + 1;
    *added = true;
    if (parent == t->count)
        return add(t, parent, frame); /* the newest of all is nobody's parent yet */
    hash = hash_of(parent, frame);
    number = find(t, parent, frame, hash);
    *added = !number;
    if (number)
        return number;
    if (!t->index || t->used >= (size_t)1 << (t->bits - 1))
        grow(t);
    t->used++;
    number = add(t, parent, frame);
    insert(t, (uint64_t)hash << 32 | number);
    return number;
}

uint32_t stacktree_outward(const struct stacktree *t, uint32_t number, uint32_t frames)
{
    while (frames-- && number)
        number = t->nodes[number].parent;
    return number;
}

void stacktree_free(struct stacktree *t)
{
    free(t->nodes);
    free(t->index);
    *t = (struct stacktree){0};
}
