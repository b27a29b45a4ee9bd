/* regions - the named spans of a process: which one a record ends, and inside of which one began.
 */
#ifndef COLLECT_REGIONS_H
#define COLLECT_REGIONS_H

#include "base/intmap.h"

#include <stddef.h>
#include <stdint.h>

struct region {              /* one that is open */
    uint64_t region, number; /* of the trace; the program's, 0: it nests */
};

/* Those that are open: of a thread, the first first; or all of a process that have a number, in any
 * order.
 */
struct regions { /* zeroed is empty */
    struct region *open;
    size_t count, room;
    size_t nested;           /* of a thread: those without a number */
    struct intmap by_number; /* of a process: place + 1, 0: it is closed */
};

/* A region of this thread begins; the one around it, 0: none. `number` 0: it nests. */
uint64_t regions_begin(struct regions *process, struct regions *thread, uint64_t region,
                       uint64_t number);

/* The region that ends; `number` 0: the innermost that nests. 0: none is open. */
uint64_t regions_end(struct regions *process, struct regions *thread, uint64_t number);

/* One that nests and was left open at the thread's end, innermost first; 0: no more. */
uint64_t regions_left(struct regions *r);
void regions_free(struct regions *r);

#endif
