/* mapping - one mapping of a process, or a part of one: see mappings.h. */
#ifndef TRACE_MAPPING_H
#define TRACE_MAPPING_H

#include "trace/format.h"

#include <stdbool.h>
#include <stddef.h>

struct mapping { /* or what is left of one */
    uint64_t process, start, end;
    enum trace_mmap_kind kind; /* ANONYMOUS, FILE, ARENA, SHARED or RESERVED */
    bool closed;               /* nobody may touch it */
    bool ended;                /* its process has */
    bool counts;               /* of shared memory: this is the mapping that its object counts by */
    uint64_t thread, stack, context, object, born_ns;
    uint64_t whole;       /* bytes that it was made with */
    uint64_t milliblocks; /* of its 1000, what the parts that have gone did not take with them */
    uint64_t resident;    /* at the last look; of reservations alone */
    struct mapping *next, **link; /* of the same object */
};

#endif
