/* heap_events - every allocation and free of a recording, one by one and in the order of time, each
 * with a number of its block: for formats that tell events, not sums.
 *
 * An exact recording has no addresses; a free names the size and stack of its block, and how many
 * allocations its thread made since where they are few. Where that does not say which block it was,
 * it is the oldest of them: sums, sizes and stacks are right whichever it was.
 */
#ifndef MODEL_HEAP_EVENTS_H
#define MODEL_HEAP_EVENTS_H

#include "base/intmap.h"
#include "model/heap_order.h"

#define HEAP_EVENTS_LATEST 16u /* allocations of a thread that are known one by one */

struct heap_event {
    bool freed;
    uint64_t time_ns, thread; /* thread 0: nobody's doing: its process ended */
    struct heap_process *process;
    uint32_t place; /* of it */
    uint64_t block; /* from 1 */
    uint64_t bytes; /* of a sampled block: for how many it stands */
    uint64_t stack;
    uint64_t address; /* 0: not recorded */
    uint64_t live;    /* of its process, afterwards */
};

typedef void heap_events_take(void *context, const struct heap_event *e);

struct heap_events { /* zeroed: not started */
    struct heap_order order;
    heap_events_take *take;
    void *context;
    struct heap_events_block {
        uint64_t bytes, address;
        uint32_t place, stack;
        uint32_t list, next; /* of those that nothing tells apart, the older first */
        uint32_t before;     /* of its process */
        bool dead;
    } * blocks;
    size_t count, room;
    struct intmap lists; /* by process and info, or by process and stack of a mapping: 1 + place */
    struct {
        uint32_t first, last;
    } * list;
    size_t list_count, list_room;
    struct intmap threads; /* 1 + place in latest */
    struct {
        uint64_t count;
        uint32_t of[HEAP_EVENTS_LATEST];
    } * latest;
    size_t latest_count, latest_room;
    struct {
        uint64_t live;
        uint32_t last; /* block */
    } * processes;     /* by place */
    size_t process_room;
};

/* Take the second pass; last_ns: when the recording ended. */
void heap_events_start(struct heap_events *t, struct heap *h, uint64_t last_ns,
                       heap_events_take *take, void *context);
void heap_events_record(void *events, const struct trace_event *ev);
void heap_events_end(struct heap_events *t);

#endif
