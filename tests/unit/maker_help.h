/* maker_help - what the programs that make traces for tests share: one store, and records into it.
 */
#ifndef MAKER_HELP_H
#define MAKER_HELP_H

#include "trace/store.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
#define MIB 1048576ull

static struct trace_store *store;

#define PUT(kind, time, tail, tail_count, ...)                                                     \
    trace_store_put(store, kind, time, (const uint64_t[]){__VA_ARGS__},                            \
                    sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), tail, tail_count)

static inline uint64_t text(const char *t)
{
    return trace_store_string(store, t, strlen(t));
}

/* A number for records that are nonsense: mostly below `small`, so that they meet, now and then
 * huge. */
static inline uint64_t any_below(long small)
{
    switch (random() % 8) {
    case 0:
        return UINT64_MAX - (uint64_t)(random() % 3);
    case 1:
        return (uint64_t)random() << (random() % 33);
    default:
        return (uint64_t)(random() % small);
    }
}

#endif
