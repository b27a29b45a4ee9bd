/* heap_entries_pass - what heap_entries.c and heap_entries_exact.c share while a pass is taken. */
#ifndef MODEL_HEAP_ENTRIES_PASS_H
#define MODEL_HEAP_ENTRIES_PASS_H

#include "model/heap_entries.h"
#include "model/heap_mapped_runs.h"
#include "model/heap_pass.h"
#include "model/heap_runs.h"

struct heap_entries_slot {  /* of an info: what most events ask for */
    uint32_t run;           /* the blocks that live, but for `young` */
    uint32_t owner, thread; /* of the last that was allocated, */
    uint32_t young;         /* of those: born in `cell`, and alive, */
    uint32_t brief;         /* or dead */
    uint16_t cell;
    unsigned char labels;
    bool owned : 1;
    bool defined : 1; /* as the info is, which is farther away */
};

struct heap_entries_slots {       /* of a process */
    struct heap_entries_slot *of; /* by info */
    size_t room;
    struct heap_freed freed;
};

#define HEAP_ENTRIES_LATEST 16u /* allocations of a thread that are known one by one */

struct heap_entries_latest { /* of a thread */
    struct {
        uint32_t info, owner;
        struct heap_cell cell;
    } of[HEAP_ENTRIES_LATEST];
    uint32_t count;
};

struct heap_entries_pass {
    struct heap_entries_slots *slots; /* by place of the process */
    size_t slots_room;
    struct heap_runs runs;
    struct heap_mapped_runs mapped;
    struct heap_entries_latest *latest;
    size_t latest_room;
    struct intmap owners;
    uint16_t cell;
    uint16_t
        coarse[HEAP_EDGES_MOST]; /* by cell: that of the coarse grid, by which blocks are found */
    uint64_t age_ns;             /* the time that the next is of */
    struct {
        uint16_t from, to, likely;
        bool known;
    } ages[HEAP_LIVED_CLASSES];
    int64_t unit; /* of counts for a block */
};

/* The cell of an event. */
static inline void heap_entries_move(struct heap_entries *t, uint64_t ordinal)
{
    struct heap_entries_pass *s = t->pass;

    while (s->cell + 1 < t->edges->count && ordinal > t->edges->list[s->cell].after)
        s->cell++;
}

struct heap_entries_taking { /* what one thread did at one time */
    struct heap_entries *entries;
    const struct heap_order_event *run;
    struct heap_entries_slots *slots;
    struct heap_entries_latest *latest;
    const struct heap_info *infos;
};

struct heap_entries_found { /* of a block; neither of both: it is none that lives */
    bool young;
    uint32_t *link; /* what leads to its run */
    uint16_t likely;
};

/* heap_entries_find.c: the block that a free of such an info is of. */
struct heap_entries_found heap_entries_find(const struct heap_entries_taking *k,
                                            struct heap_entries_slot *slot,
                                            const struct batch_item *b, uint32_t info);

/* The same, if it is of the young for sure; false: it is to be found. */
bool heap_entries_find_young(const struct heap_entries_taking *k,
                             const struct heap_entries_slot *slot, const struct batch_item *b,
                             uint32_t info);

/* heap_entries_exact.c: a run of exact allocations and frees, */
void heap_entries_run(struct heap_entries *t, const struct heap_order_event *e);
/* what is left of a process: it dies with it, or is alive at the end, */
void heap_entries_leave(struct heap_entries *t, uint32_t place, uint16_t death);
/* and the end of all. */
void heap_entries_end_exact(struct heap_entries *t);

#endif
