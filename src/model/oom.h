/* oom - where memory ran out: an allocation that was refused, a process that was killed, a trace
 * that was cut off. What was held then is asked of the heap, at the time that is found here.
 */
#ifndef MODEL_OOM_H
#define MODEL_OOM_H

#include "model/heap.h"
#include "model/recorded.h"
#include "model/space_lens.h"

#define OOM_FAILURES_MOST 4096

enum oom_how {
    OOM_NONE,    /* nothing of the kind */
    OOM_KILLED,  /* by the kernel, for lack of memory */
    OOM_REFUSED, /* an allocation failed */
    OOM_SIGNAL,  /* a process ended by SIGKILL, SIGBUS or SIGABRT: perhaps for lack of memory */
    OOM_CUT,     /* the trace has no end: the recorder itself was ended */
    OOM_ASKED,   /* the user has named the moment */
};

struct oom_failure { /* allocations that failed alike */
    uint64_t space, stack, call, status;
    uint64_t times, most; /* bytes */
    uint64_t last_ns, thread, last_bytes;
    uint64_t live; /* the most of those that was live at one of them, and that one: */
    uint64_t live_ns, live_bytes, live_thread;
};

struct oom { /* zeroed: nothing was read */
    struct recorded *recorded;
    struct oom_failure *list;
    size_t count, room;
    uint64_t left_out;
    struct oom_event { /* each, in the order of time, until they are judged */
        uint64_t time_ns, bytes, thread;
        uint32_t of; /* place in the list */
    } * events;
    size_t event_count, event_room;
    enum oom_how how;
    const struct oom_failure *failure; /* OOM_REFUSED, and OOM_ASKED if there was one before it */
    const struct run_process *process; /* may be NULL */
    uint64_t time_ns;
    struct metrics machine, cgroup, tree; /* as they were sampled last before it */
    uint64_t sampled_ns;                  /* when; 0: never */
    uint64_t elsewhere; /* failures in other spaces than the one that is asked about */
};

/* Before the trace is read: hear of what fails. */
void oom_begin(struct oom *o, struct recorded *r);
/* Once it was: find the moment. What the machine had then is read by recorded_read_again. */
void oom_find(struct oom *o, const struct selection *options, const struct space_list *spaces);

/* "an allocation was refused" and so on. */
const char *oom_text(const struct oom *o, struct arena *a);

#endif
