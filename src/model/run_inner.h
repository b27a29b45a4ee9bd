/* run_inner - what the files of run share while it is read: run.c (the pass), run_processes.c (who
 * is in it), run_samples.c (what they used).
 */
#ifndef MODEL_RUN_INNER_H
#define MODEL_RUN_INNER_H

#include "base/intmap.h"
#include "model/run.h"

#define LISTENERS_MOST 32

struct run_state { /* what only the pass itself needs */
    struct intmap processes, pids, devices, uses;
    struct intmap recorded; /* processes that had a thread inside -> their first event */
    struct exact_since_pass since;
    struct intmap ran; /* process number -> what it ran, where it was seen too late */
    size_t process_room;
    uint32_t holders[METRICS_ROOM];
    struct run_process *last_root;
    double oldest_ns; /* when the oldest process began; before the recording: negative */
    bool ticking;     /* a tick waits for the first later event */
    uint64_t tick_ns, before_ns;
    uint64_t before_cpu, before_busy, before_all;
    uint64_t paused, paused_at_ns; /* how many pauses last, since when */
    bool before_machine_known;
    struct {
        run_tick *tick;
        void *context;
    } listeners[LISTENERS_MOST];
    int listener_count;
};

static inline void *run_find(const struct intmap *m, uint64_t number)
{
    uint64_t value;

    return intmap_get(m, number, &value) ? (void *)(uintptr_t)value : NULL;
}

static inline void run_file(struct intmap *m, uint64_t number, void *what)
{
    intmap_put(m, number, (uint64_t)(uintptr_t)what);
}

void run_on_process(struct run *r, const struct trace_event *ev);
/* Facts may come before what they tell of. */
void run_on_process_fact(struct run *r, const struct trace_event *ev);
void run_on_process_end(struct run *r, const struct trace_event *ev);

void run_on_device(struct run *r, const struct trace_event *ev);
/* The same holds for facts of devices. */
void run_on_device_fact(struct run *r, const struct trace_event *ev);
void run_on_device_sample(struct run *r, uint64_t number, const struct metrics *m);
/* `id` as in the sample: of the device and of the process. */
void run_on_use_sample(struct run *r, uint64_t id, const struct metrics *m);

void run_on_sample(struct run *r, const struct trace_event *ev);
/* Change what one process adds to the sums; `old` or `new` NULL: it adds nothing. */
void run_contribute(struct run *r, unsigned int i, const uint64_t *old, const uint64_t *new);
/* CPU use at a tick. The tree's first is since the oldest process began, every other's since the
 * tick before.
 */
void run_measure_tree(struct run *r);
void run_measure_machine(struct run *r);

#endif
