/* numbers - see numbers.h. */
#include "inject/numbers.h"

#include "inject/sys.h"

#define GROUP 8u        /* places of the index: one line of the cache */
#define FETCHED_FROM 3u /* segments before it are small enough to be near */

static uint32_t segment_size(unsigned int s)
{
    return LOOKUP_FIRST << (2 * s);
}

/* A segment of either kind, made on first use; NULL when memory has run out. */
static void *segment_of(_Atomic(void *) *place, size_t bytes)
{
    void *none = NULL, *segment = atomic_load_explicit(place, memory_order_acquire);

    if (segment)
        return segment;
    segment = sys_memory(bytes);
    if (!segment || atomic_compare_exchange_strong(place, &none, segment))
        return segment;
    sys_unmap(segment, bytes);
    return none;
}

static struct lookup_entry *entry_of(struct numbers *n, uint32_t number)
{
    struct lookup_entry *segment;
    uint32_t at = number - 1;
    unsigned int s = 0;

    for (; s < LOOKUP_SEGMENTS && at >= segment_size(s); s++)
        at -= segment_size(s);
    if (s == LOOKUP_SEGMENTS)
        return NULL;
    segment = segment_of((_Atomic(void *) *)&n->entries[s], segment_size(s) * sizeof(*segment));
    return segment ? segment + at : NULL;
}

static uint64_t hash_of(uint64_t key)
{
    return (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
}

static inline _Atomic uint64_t *group_of(_Atomic uint64_t *segment, unsigned int s, uint64_t hash)
{
    return segment + ((hash >> 8) & (segment_size(s) / GROUP - 1)) * GROUP;
}

/* What a place holds of a key: the upper half of its hash; its number is added. */
static inline uint64_t tag_of(uint64_t hash)
{
    return hash >> 32 << 32;
}

/* A key that is not there is looked for in every segment: all are fetched at once. */
static inline void fetch(struct numbers *n, uint64_t hash)
{
    for (unsigned int s = FETCHED_FROM; s < LOOKUP_SEGMENTS; s++) {
        _Atomic uint64_t *segment = atomic_load_explicit(&n->index[s], memory_order_acquire);

        if (!segment)
            return;
        __builtin_prefetch((const void *)group_of(segment, s, hash), 1);
    }
}

/* Does this place hold the key? */
static inline struct lookup_entry *match(struct numbers *n, uint64_t place, uint64_t key,
                                         uint64_t hash, uint32_t *number)
{
    struct lookup_entry *entry;

    if (!place || tag_of(place) != tag_of(hash))
        return NULL;
    *number = (uint32_t)place;
    entry = entry_of(n, *number);
    return entry && atomic_load_explicit(&entry->key, memory_order_relaxed) == key ? entry : NULL;
}

/* NULL: it is not there, and has its place in segment *in or later. */
static struct lookup_entry *find(struct numbers *n, uint64_t key, uint64_t hash, uint32_t *number,
                                 unsigned int *in)
{
    fetch(n, hash);
    for (unsigned int s = 0; s < LOOKUP_SEGMENTS; s++) {
        _Atomic uint64_t *group = atomic_load_explicit(&n->index[s], memory_order_acquire);

        *in = s;
        if (!group)
            return NULL;
        group = group_of(group, s, hash);
        for (unsigned int i = 0; i < GROUP; i++) {
            uint64_t place = atomic_load_explicit(&group[i], memory_order_acquire);
            struct lookup_entry *entry = match(n, place, key, hash, number);

            if (entry || !place)
                return entry; /* places are taken in order, and never given back */
        }
    }
    return NULL;
}

/* Put a number into a group; a thread that adds the same key meanwhile is found out. */
static enum lookup_claim place_in(struct numbers *n, _Atomic uint64_t *group, uint64_t key,
                                  uint64_t hash, uint32_t *number, struct lookup_entry **entry)
{
    for (unsigned int i = 0; i < GROUP; i++) {
        uint64_t there = atomic_load_explicit(&group[i], memory_order_acquire);
        struct lookup_entry *found;
        uint32_t theirs;

        if (!there && atomic_compare_exchange_strong(&group[i], &there, tag_of(hash) | *number))
            return LOOKUP_ADDED;
        found = match(n, there, key, hash, &theirs);
        if (found) {
            *number = theirs; /* the one that was taken is nobody's */
            *entry = found;
            return LOOKUP_FOUND;
        }
    }
    return LOOKUP_FULL;
}

static enum lookup_claim add(struct numbers *n, uint64_t key, uint64_t hash, unsigned int from,
                             uint32_t *number, struct lookup_entry **entry)
{
    if (atomic_load_explicit(&n->count, memory_order_relaxed) >= RING_STACKS_MOST - 1)
        return LOOKUP_FULL;
    *number = atomic_fetch_add(&n->count, 1) + 1;
    *entry = entry_of(n, *number);
    if (!*entry)
        return LOOKUP_FULL;
    atomic_store_explicit(&(*entry)->key, key, memory_order_relaxed);
    for (unsigned int s = from; s < LOOKUP_SEGMENTS; s++) {
        _Atomic uint64_t *segment = segment_of((_Atomic(void *) *)&n->index[s],
                                               segment_size(s) * sizeof(*segment));
        enum lookup_claim claim;

        if (!segment)
            return LOOKUP_FULL;
        claim = place_in(n, group_of(segment, s, hash), key, hash, number, entry);
        if (claim != LOOKUP_FULL)
            return claim;
    }
    return LOOKUP_FULL;
}

enum lookup_claim numbers_claim(struct numbers *n, uint64_t key, uint32_t *number,
                                struct lookup_entry **entry)
{
    uint64_t hash = hash_of(key);
    unsigned int in = 0;

    *entry = find(n, key, hash, number, &in);
    return *entry ? LOOKUP_FOUND : add(n, key, hash, in, number, entry);
}

uint32_t numbers_unseen(struct numbers *n)
{
    if (atomic_load_explicit(&n->count, memory_order_relaxed) >= RING_STACKS_MOST / 2)
        return 0;
    return atomic_fetch_add(&n->count, 1) + 1;
}

void numbers_forget(struct numbers *n)
{
    for (unsigned int s = 0; s < LOOKUP_SEGMENTS; s++) {
        atomic_store(&n->index[s], NULL);
        atomic_store(&n->entries[s], NULL);
    }
    atomic_store(&n->count, 0);
}
