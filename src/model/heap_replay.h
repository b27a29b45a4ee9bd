/* heap_replay - the allocations of a trace that was read once, again: each as a change of what one
 * process holds from one stack, decoded once for all who follow memory over time.
 */
#ifndef MODEL_HEAP_REPLAY_H
#define MODEL_HEAP_REPLAY_H

#include "model/heap.h"
#include "model/heap_live.h"
#include "trace/batch.h"
#include "trace/mappings.h"

#define HEAP_REPLAY_TAKERS 32

struct heap_change {
    struct heap_process *process;
    uint32_t place;  /* 1 + its place in heap.processes */
    uint64_t number; /* of the event among those of its process, from 0 */
    uint64_t time_ns, stack, bytes;
    uint64_t thread;     /* that did it; 0: it was sampled */
    bool freed, revived; /* revived: a free is taken back */
    unsigned int lived;  /* of what was freed: see heap_replay_born */
    uint64_t born_ns;    /* the same, where it was sampled */
    uint64_t info;       /* its number; 0: it was sampled, and: */
    uint32_t entry;      /* what heap_sampled_place says; UINT32_MAX: none */
    uint64_t block;      /* what tells it apart while it lives; 0: nothing does */
    uint64_t address;    /* of a birth; 0: not known */
    bool sample;         /* of a birth: the block stands for several */
    uint64_t context;    /* that it was allocated in: see CONTEXT in docs/FORMAT.md */
    struct heap_amount amount;
};

typedef void heap_replay_take(void *context, const struct heap_change *c);
/* Exact events of one process, thread and time at once: `c` is the first of them, but for its
 * block. */
typedef void heap_replay_take_run(void *context, const struct heap_change *c,
                                  const struct batch_item *items, size_t count);
/* Does it matter what becomes of blocks of a process and stack? The same whenever it is asked. */
typedef bool heap_replay_wants(void *context, const struct heap_process *p, uint64_t stack);

struct heap_replay { /* zeroed but for its heap: nobody takes anything */
    struct heap *heap;
    struct {
        heap_replay_take *take;
        heap_replay_take_run *take_run; /* NULL: `take` has exact events as well */
        heap_replay_wants *wants;       /* NULL: everything */
        void *context;
    } takers[HEAP_REPLAY_TAKERS];
    int count;
    bool single;       /* somebody takes exact events one by one */
    uint64_t until_ns; /* the last time that one of them wants to know of */
    struct {
        uint64_t events; /* how many there were */
        uint32_t
            *wanted; /* by place of the info a bit for each taker that does; NULL: not known yet */
    } * of;          /* by place */
    struct heap_live live;
    struct mappings mappings;
};

/* Give the heap, which was just started, its replay; in the arena. */
void heap_replay_start(struct heap *h, struct arena *arena);

/* Take all changes up to a time; false: there are too many who do. */
bool heap_replay_add(struct heap_replay *r, heap_replay_take *take, void *context,
                     uint64_t until_ns);
/* The same, but of exact blocks those that it wants. */
bool heap_replay_add_some(struct heap_replay *r, heap_replay_take *take, heap_replay_wants *wants,
                          void *context, uint64_t until_ns);

/* The same, but exact blocks a run at a time: who looks at each of them is faster so. */
bool heap_replay_add_runs(struct heap_replay *r, heap_replay_take *take,
                          heap_replay_take_run *take_run, void *context, uint64_t until_ns);

/* When was it allocated that is freed? Between these, both included. */
void heap_replay_born(const struct heap_change *c, uint64_t *from_ns, uint64_t *to_ns);

/* Take a BATCH, ALLOC, FREE, MMAP or one of their kin; others are left alone. */
void heap_replay(struct heap_replay *r, const struct trace_event *ev);
/* All was taken: nobody takes anything. */
void heap_replay_end(struct heap_replay *r);

#endif
