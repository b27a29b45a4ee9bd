/* infos - numbers for what blocks of a process share: stack, size, and the context that they were
 * allocated in. Asked for at every allocation, so the search is inline.
 *
 * Programs number their stacks as they meet them, and most have one size: the first info of a stack
 * stands by the stack's number, beside those that were new with it. A hash table has the others
 * alone, and is small.
 */
#ifndef COLLECT_INFOS_H
#define COLLECT_INFOS_H

#include "trace/ring.h"
#include "trace/store.h"

#include <stddef.h>
#include <stdint.h>

#define INFOS_PAGE 4096u

struct infos_key {
    uint64_t bytes;
    uint32_t stack, context;
};

struct infos_entry {
    uint64_t bytes;
    uint32_t stack;
    uint32_t info; /* 0: empty */
};

struct infos {         /* zeroed is empty */
    uint32_t **firsts; /* by stack: pages of INFOS_PAGE, NULL where none is used */
    uint32_t first_pages;
    struct infos_entry *table; /* all others */
    size_t mask;               /* room for entries - 1 */
    size_t entries;            /* in the table */
    uint64_t *bytes;           /* by number, from 1 */
    uint32_t *contexts;        /* by number; NULL: there was none but 0 */
    uint32_t context_room;
    uint32_t stale; /* those with a context below it, and not 0, are not asked for any more */
    uint32_t count, room;
    unsigned char *pending; /* the tail of an INFOS record, not yet written */
    size_t pending_used, pending_room;
    uint32_t pending_first;
    uint64_t pending_stack; /* of the last in it */
    struct infos_within {   /* the contexts of those in it, but for 0 */
        uint32_t context, first, count;
    } * within;
    size_t within_count, within_room;
};

/* Add one that is not there; its number. `known` is the stack as the trace numbers it. */
uint32_t infos_add(struct infos *f, const struct infos_key *key, uint32_t known,
                   unsigned int origin);
/* Write those that were added: before any event that refers to one. */
void infos_flush(struct infos *f, uint64_t process, struct trace_store *s);
void infos_free(struct infos *f);

static inline size_t infos_home(const struct infos_key *key, size_t mask)
{
    uint64_t h = (key->bytes + ((uint64_t)key->stack << 20) + ((uint64_t)key->context << 41)) *
                 0x9e3779b97f4a7c15u;

    return (size_t)(h >> 40) & mask;
}

static inline uint32_t infos_context(const struct infos *f, uint32_t info)
{
    return f->contexts ? f->contexts[info] : 0;
}

/* The first info of a stack; 0: it has none. */
static inline uint32_t infos_first(const struct infos *f, uint32_t stack)
{
    const uint32_t *page = stack / INFOS_PAGE < f->first_pages ? f->firsts[stack / INFOS_PAGE]
                                                               : NULL;

    return page ? page[stack % INFOS_PAGE] : 0;
}

/* Of those that are not the first of their stack; 0: not there. */
static inline uint32_t infos_search(const struct infos *f, const struct infos_key *key)
{
    const struct infos_entry *e;

    if (!f->table)
        return 0;
    for (size_t i = infos_home(key, f->mask);; i = (i + 1) & f->mask) {
        e = &f->table[i];
        if (!e->info || (e->bytes == key->bytes && e->stack == key->stack &&
                         infos_context(f, e->info) == key->context))
            return e->info;
    }
}

/* 0: not there. */
static inline uint32_t infos_find(const struct infos *f, const struct infos_key *key)
{
    uint32_t first = infos_first(f, key->stack);

    if (first && f->bytes[first] == key->bytes && infos_context(f, first) == key->context)
        return first;
    return first || key->stack >= RING_STACKS_MOST ? infos_search(f, key) : 0;
}

#endif
