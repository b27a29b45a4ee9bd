/* lookup - see lookup.h. */
#include "inject/lookup.h"

#include "inject/sys.h"

#define GROUP 8u
#define FETCHED_FROM 3u /* those before it are small enough to be near */
#define RESERVED 1u     /* an entry between being taken and having its value */

static uint32_t segment_size(unsigned int s)
{
    return LOOKUP_FIRST << (2 * s);
}

static struct lookup_entry *group_of(struct lookup_entry *segment, unsigned int s, uint64_t key)
{
    uint64_t h = key * 0x9e3779b97f4a7c15u;

    return segment + ((h >> 32) & (segment_size(s) / GROUP - 1)) * GROUP;
}

/* The segment, made on first use; NULL when memory or numbers have run out. */
static struct lookup_entry *segment_of(struct lookup *t, unsigned int s)
{
    struct lookup_entry *segment, *none = NULL;
    size_t bytes = (size_t)segment_size(s) * sizeof(struct lookup_entry);

    segment = atomic_load_explicit(&t->segments[s], memory_order_acquire);
    if (segment)
        return segment;
    segment = sys_memory(bytes);
    if (!segment || atomic_compare_exchange_strong(&t->segments[s], &none, segment))
        return segment;
    sys_unmap(segment, bytes);
    return none;
}

/* A key that is not there is looked for in every segment: all are fetched at once. */
static inline void fetch(struct lookup *t, uint64_t key)
{
    for (unsigned int s = FETCHED_FROM; s < LOOKUP_SEGMENTS; s++) {
        struct lookup_entry *segment = atomic_load_explicit(&t->segments[s], memory_order_acquire);
        struct lookup_entry *group;

        if (!segment)
            return;
        group = group_of(segment, s, key);
        __builtin_prefetch(group);
        __builtin_prefetch(group + GROUP / 2);
    }
}

/* The number of a segment's first entry. */
static uint32_t number_from(unsigned int s)
{
    return 1 + (segment_size(s) - LOOKUP_FIRST) / 3;
}

static struct lookup_entry *find_in(struct lookup *t, unsigned int s, uint64_t key,
                                    uint32_t *number)
{
    struct lookup_entry *segment = atomic_load_explicit(&t->segments[s], memory_order_acquire);
    struct lookup_entry *group = segment ? group_of(segment, s, key) : NULL;

    for (unsigned int i = 0; group && i < GROUP; i++) {
        if (atomic_load_explicit(&group[i].key, memory_order_acquire) == key) {
            *number = number_from(s) + (uint32_t)(group + i - segment);
            return group + i;
        }
    }
    return NULL;
}

static struct lookup_entry *find(struct lookup *t, uint64_t key, uint32_t *number)
{
    unsigned int newest = atomic_load_explicit(&t->newest, memory_order_relaxed);
    struct lookup_entry *entry = newest ? find_in(t, newest, key, number) : NULL;

    if (entry)
        return entry;
    fetch(t, key);
    for (unsigned int s = 0; !entry && s < LOOKUP_SEGMENTS; s++) {
        if (!atomic_load_explicit(&t->segments[s], memory_order_relaxed))
            return NULL;
        entry = find_in(t, s, key, number);
    }
    return entry;
}

/* Take a free entry of this segment for `mark`; a thread that adds the same key meanwhile is found
 * out. Of an entry that is in use, the lock of its cache line is not asked for.
 */
static enum lookup_claim take_in(struct lookup *t, unsigned int s, uint64_t key, uint64_t mark,
                                 uint32_t *number, struct lookup_entry **entry)
{
    struct lookup_entry *segment = segment_of(t, s);
    struct lookup_entry *group = segment ? group_of(segment, s, key) : NULL;

    for (unsigned int i = 0; group && i < GROUP; i++) {
        uint64_t there = atomic_load_explicit(&group[i].key, memory_order_acquire);

        *number = number_from(s) + (uint32_t)(group + i - segment);
        *entry = group + i;
        if (!there && atomic_compare_exchange_strong(&group[i].key, &there, mark))
            return LOOKUP_ADDED;
        if (there == key)
            return LOOKUP_FOUND;
    }
    return LOOKUP_FULL;
}

static enum lookup_claim take(struct lookup *t, uint64_t key, uint64_t mark, uint32_t *number,
                              struct lookup_entry **entry)
{
    enum lookup_claim claim = LOOKUP_FULL;

    for (unsigned int s = 0; claim == LOOKUP_FULL && s < LOOKUP_SEGMENTS && segment_of(t, s); s++)
        claim = take_in(t, s, key, mark, number, entry);
    return claim;
}

enum lookup_claim lookup_claim_entry(struct lookup *t, uint64_t key, uint32_t *number,
                                     struct lookup_entry **entry)
{
    *entry = find(t, key, number);
    return *entry ? LOOKUP_FOUND : take(t, key, key, number, entry);
}

enum lookup_claim lookup_claim_new(struct lookup *t, uint64_t key, uint32_t *number,
                                   struct lookup_entry **entry)
{
    unsigned int newest = atomic_load_explicit(&t->newest, memory_order_relaxed);
    enum lookup_claim claim = LOOKUP_FULL;

    if (atomic_load_explicit(&t->segments[newest], memory_order_relaxed))
        claim = take_in(t, newest, key, key, number, entry);
    if (claim == LOOKUP_FULL)
        claim = take(t, key, key, number, entry);
    if (claim == LOOKUP_ADDED && newest + 1 < LOOKUP_SEGMENTS && *number >= number_from(newest + 1))
        atomic_store_explicit(&t->newest, newest + 1, memory_order_relaxed);
    return claim;
}

enum lookup_claim lookup_claim(struct lookup *t, uint64_t key, uint32_t *number)
{
    struct lookup_entry *entry;

    return lookup_claim_entry(t, key, number, &entry);
}

bool lookup_remove(struct lookup *t, uint64_t key, uint64_t *value)
{
    uint32_t number;
    struct lookup_entry *entry = find(t, key, &number);

    if (entry)
        *value = atomic_load_explicit(&entry->value, memory_order_relaxed);
    return entry && atomic_compare_exchange_strong(&entry->key, &key, 0);
}

bool lookup_get(struct lookup *t, uint64_t key, uint64_t *value)
{
    uint32_t number;
    struct lookup_entry *entry = find(t, key, &number);

    if (entry)
        *value = atomic_load_explicit(&entry->value, memory_order_relaxed);
    return entry;
}

void lookup_set(struct lookup *t, uint64_t key, uint64_t value)
{
    struct lookup_entry *entry;
    uint32_t number;

    if (key > 1 && lookup_claim_entry(t, key, &number, &entry) != LOOKUP_FULL)
        atomic_store(&entry->value, value);
}

void lookup_put(struct lookup *t, uint64_t key, uint64_t value)
{
    struct lookup_entry *entry;
    uint32_t number;

    if (take(t, key, RESERVED, &number, &entry) != LOOKUP_ADDED)
        return;
    atomic_store_explicit(&entry->value, value, memory_order_relaxed);
    atomic_store_explicit(&entry->key, key, memory_order_release);
}

void lookup_each(struct lookup *t, void (*visit)(struct lookup_entry *entry))
{
    for (unsigned int s = 0; s < LOOKUP_SEGMENTS; s++) {
        struct lookup_entry *segment = atomic_load_explicit(&t->segments[s], memory_order_acquire);

        for (uint32_t i = 0; segment && i < segment_size(s); i++)
            if (atomic_load(&segment[i].key) > RESERVED)
                visit(&segment[i]);
    }
}

void lookup_forget(struct lookup *t)
{
    atomic_store(&t->newest, 0);
    for (unsigned int s = 0; s < LOOKUP_SEGMENTS; s++)
        atomic_store(&t->segments[s], NULL);
}
