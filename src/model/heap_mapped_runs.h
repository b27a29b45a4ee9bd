/* heap_mapped_runs - what processes have mapped at a moment of the order, by the cell in which it
 * began to count; so that what ends is known by its birth. A mapping may go in parts, and of a
 * reservation more counts each time that somebody looks.
 */
#ifndef MODEL_HEAP_MAPPED_RUNS_H
#define MODEL_HEAP_MAPPED_RUNS_H

#include "base/intmap.h"
#include "model/heap_entry.h"
#include "model/heap_source.h"

struct heap_mapped_run {
    uint64_t bytes, milliblocks;
    uint64_t before; /* of the same mapping: 1 + its place; 0: none */
    uint32_t place;  /* of its process */
    uint32_t owner;
    uint16_t cell;
};

struct heap_mapped_runs { /* zeroed: none */
    struct heap_mapped_run *list;
    size_t count, room;
    struct intmap last; /* of a mapping: 1 + place of its last run */
};

/* `unit`: of a block in counts. What ends goes into both logs. */
struct heap_mapped_logs {
    struct heap_entry_log *all, *mapped;
    int64_t unit;
};

void heap_mapped_began(struct heap_mapped_runs *r, uint32_t place,
                       const struct heap_mapped_change *c, uint32_t owner, uint16_t cell);
void heap_mapped_ended(struct heap_mapped_runs *r, uint32_t place,
                       const struct heap_mapped_change *c, uint32_t owner, uint16_t cell,
                       const struct heap_mapped_logs *to);
/* All that is left of a process, or (0) of all of them. */
void heap_mapped_leave(struct heap_mapped_runs *r, uint32_t place, uint16_t death,
                       const struct heap_mapped_logs *to);
void heap_mapped_runs_free(struct heap_mapped_runs *r);

#endif
