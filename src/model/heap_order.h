/* heap_order - the allocations of all processes in the order of time.
 *
 * A BATCH holds what one process did over up to a second, and those of others overlap it: they are
 * held back until no earlier event can come, and merged. So whoever takes them sees the heap of all
 * processes at every moment. Two passes hand out the same events in the same order.
 */
#ifndef MODEL_HEAP_ORDER_H
#define MODEL_HEAP_ORDER_H

#include "model/heap.h"
#include "model/heap_live.h"
#include "model/heap_queue.h"
#include "model/heap_source.h"

enum heap_order_kind {
    HEAP_ORDER_RUN,      /* exact allocations and frees of one thread at one time: `items`; or */
    HEAP_ORDER_COURSE,   /* what they did, and those of other threads: `course` */
    HEAP_ORDER_SAMPLED,  /* a sampled block came to life, */
    HEAP_ORDER_RELEASED, /* and died */
    HEAP_ORDER_MAPPED,   /* bytes of a mapping began to count, */
    HEAP_ORDER_UNMAPPED, /* and ended: `change` */
    HEAP_ORDER_ENDED,    /* a process did, with all it has; not those that end with the recording */
    HEAP_ORDER_NOTED,    /* a region began or ended, or a MARK: `record` */
};

struct heap_order_event {
    enum heap_order_kind kind;
    uint64_t time_ns; /* never less than that of the one before */
    uint64_t ordinal; /* 1, 2 ...; of a run or course: of its last; HEAP_ORDER_NOTED: of the one
                         before */
    struct heap_process *process;
    uint32_t place; /* 1 + its place in heap.processes; 0: nobody's */
    uint64_t thread;
    const struct batch_item *items;   /* of a run */
    size_t count;                     /* of a run or course */
    const struct heap_course *course; /* and its batch is the record */
    struct heap_block *block;         /* of a sampled one; `entry` and `thread` are the taker's */
    const struct trace_event *record; /* of a course, a sampled one and of HEAP_ORDER_NOTED */
    const struct heap_mapped_change *change;
};

typedef void heap_order_take(void *context, const struct heap_order_event *e);

struct heap_order { /* zeroed: not started */
    struct heap *heap;
    heap_order_take *take;
    void *context;
    bool coursed; /* batches are handed out as courses, where the heap has them */
    struct heap_queue queue;
    struct heap_source **of; /* by place of the process; 0: records of other kinds */
    size_t of_room;
    uint64_t now_ns;
    struct heap_live live;
    struct mappings mappings;
    struct heap_waiting waiting;
    uint64_t last_ns, ordinal;
    unsigned char *ended; /* by place: see heap_order.c */
    bool any_dead;
    size_t ended_room, ended_count;
    uint32_t *ending; /* places of those that are to end, and of some that are not any more */
    size_t ending_count, ending_room;
};

/* last_ns: when the recording ended. */
void heap_order_start(struct heap_order *o, struct heap *h, uint64_t last_ns, heap_order_take *take,
                      void *context);
/* A record of the trace, in its order, after the heap took it; the context is the order. */
void heap_order_record(void *order, const struct trace_event *ev);
/* All was given: hand out the rest. What lives then is in `live`. */
void heap_order_flush(struct heap_order *o);
void heap_order_free(struct heap_order *o);

#endif
