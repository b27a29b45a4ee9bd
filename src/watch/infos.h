/* infos - numbers for pairs of stack and size of one process. Asked for at every allocation, so
 * the search is inline.
 */
#ifndef WATCH_INFOS_H
#define WATCH_INFOS_H

#include "trace/store.h"

#include <stddef.h>
#include <stdint.h>

struct infos_entry {
    uint64_t bytes;
    uint32_t stack;
    uint32_t info; /* 0: empty */
};

struct infos { /* zeroed is empty */
    struct infos_entry *table;
    size_t mask;     /* entries - 1 */
    uint64_t *bytes; /* by number, from 1 */
    uint32_t count, room;
    unsigned char *pending; /* the tail of an INFOS record, not yet written */
    size_t pending_used, pending_room;
    uint32_t pending_first;
    uint64_t pending_stack; /* of the last in it */
};

/* Add the pair, which is not there; its number. `known` is the stack as the trace numbers it. */
uint32_t infos_add(struct infos *f, uint32_t stack, uint64_t bytes, uint32_t known,
                   unsigned int origin);
/* Write those that were added: before any event that refers to one. */
void infos_flush(struct infos *f, uint64_t process, struct trace_store *s);
void infos_free(struct infos *f);

static inline size_t infos_home(uint32_t stack, uint64_t bytes, size_t mask)
{
    uint64_t h = (bytes + ((uint64_t)stack << 20)) * 0x9e3779b97f4a7c15u;

    return (size_t)(h >> 40) & mask;
}

/* 0: not there. */
static inline uint32_t infos_find(const struct infos *f, uint32_t stack, uint64_t bytes)
{
    const struct infos_entry *e;

    if (!f->table)
        return 0;
    for (size_t i = infos_home(stack, bytes, f->mask);; i = (i + 1) & f->mask) {
        e = &f->table[i];
        if ((e->bytes == bytes && e->stack == stack) || !e->info)
            return e->info;
    }
}

#endif
