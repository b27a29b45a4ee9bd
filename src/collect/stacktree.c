/* stacktree - see stacktree.h. The index is of open addressing, at most half full. A stack that is
 * new has most often a parent that is new or often asked for: so its place is near that of its
 * parent's number, within a few pages that are at hand. Where many have one parent, or somebody
 * chose them so, those that find no place there have one by a hash that is known to this process
 * alone: see intmap.
 */
#include "collect/stacktree.h"

#include "base/intmap.h"
#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#define FIRST_BITS 10
#define NODES_AHEAD 16u
#define NEAR_PLACES 128u
#define NEAR_PROBES 8u

static uint32_t hash_of(uint32_t parent, uint32_t frame)
{
    return (uint32_t)(intmap_hash((uint64_t)parent << 32 | frame) >> 32);
}

/* The places of a stack, one after the other: the first few near its parent's. */
static size_t place_of(const struct stacktree *t, uint32_t parent, uint32_t hash, size_t probe)
{
    size_t mask = ((size_t)1 << t->bits) - 1;

    if (probe < NEAR_PROBES)
        return (parent + hash % NEAR_PLACES + probe) & mask;
    return ((hash >> (32 - t->bits)) + probe - NEAR_PROBES) & mask;
}

static void insert(struct stacktree *t, uint32_t number, uint32_t hash)
{
    size_t probe = 0, i;

    do {
        i = place_of(t, t->nodes[number].parent, hash, probe++);
    } while (t->index[i]);
    t->index[i] = (uint64_t)hash << 32 | number;
}

static void drop_index(uint64_t *index, size_t places)
{
    if (index)
        munmap(index, places * sizeof(*index));
}

/* Its pages are all asked for soon: a look at one that is not there and the first word that is
 * written to it would be a fault each. The parents of a million stacks are not in the cache.
 */
static void grow(struct stacktree *t)
{
    uint64_t *old = t->index;
    size_t places = old ? (size_t)1 << t->bits : 0;

    t->bits = old ? t->bits + 1 : FIRST_BITS;
    t->index = memory_pages(sizeof(*t->index) << t->bits);
    for (size_t i = 0; i < places; i++) {
        __builtin_prefetch(&t->nodes[(uint32_t)old[(i + NODES_AHEAD) % places]]);
        if (old[i])
            insert(t, (uint32_t)old[i], (uint32_t)(old[i] >> 32));
    }
    drop_index(old, places);
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
    for (size_t probe = 0;; probe++) {
        uint64_t entry = t->index[place_of(t, parent, hash, probe)];

        if (!entry)
            return 0;
        if (entry >> 32 == hash && is_child(t, (uint32_t)entry, parent, frame))
            return (uint32_t)entry;
    }
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
    insert(t, number, hash);
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
    drop_index(t->index, (size_t)1 << t->bits);
    *t = (struct stacktree){0};
}
