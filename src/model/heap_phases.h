/* heap_phases - the moments at which the program said the same thing again: its steps, and the ends
 * of its regions, by name and process. What grows from one to the next grows with the work that
 * they are.
 */
#ifndef MODEL_HEAP_PHASES_H
#define MODEL_HEAP_PHASES_H

#include "base/intmap.h"
#include "model/heap.h"

#define HEAP_PHASE_POINTS 64u
#define HEAP_PHASES_MOST 256u

struct heap_phase {
    const char *name; /* may be NULL */
    bool steps;       /* else the ends of a region */
    uint64_t process; /* by number */
    uint64_t times[HEAP_PHASE_POINTS];
    unsigned int count;
    uint64_t seen, stride; /* each stride-th of those that were seen is kept */
};

struct heap_phases { /* zeroed: none */
    struct heap_phase *list;
    size_t count;
    struct intmap places; /* of a name in a process: 1 + place */
    struct intmap names;  /* of a region */
};

/* A MARK, REGION or REGION_END of a heap that was read; others are left alone. */
void heap_phases_take(struct heap_phases *p, const struct heap *h, const struct trace_event *ev);
void heap_phases_free(struct heap_phases *p);

#endif
