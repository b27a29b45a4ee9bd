/* pytasks - what the tasks of asyncio and trio await, read by offset: while an event loop waits,
 * its stack says where the loop was started, and the coroutines of its tasks say what is waited
 * for.
 *
 * Known of 3.9 to 3.13. Nothing is called and nothing is locked: the thread of the loop must stand
 * still.
 */
#ifndef PYTHON_PYTASKS_H
#define PYTHON_PYTASKS_H

#include "python/pyframes.h"

#define PY_TASK_FRAMES 16
#define PY_TASK_HEARERS 12

struct py_task {
    /* waits_for: a future, which may be a task; of trio itself, where it waits for tasks; 0: not
     * known */
    uintptr_t task, waits_for;
    /* What is called when it ends knows these: among them who waits for it, or for several. */
    uintptr_t hearers[PY_TASK_HEARERS];
    size_t hearer_count;
    struct py_frame frames[PY_TASK_FRAMES]; /* of its coroutines, the outermost first */
    size_t count;
};

enum py_loop_kind {
    PY_LOOP_NONE,
    PY_LOOP_ASYNCIO, /* BaseEventLoop._run_once */
    PY_LOOP_RUNNER,  /* what asyncio.run has started, as uvloop's */
    PY_LOOP_TRIO,    /* trio.run */
    PY_LOOP_KINDS
};

struct py_loop {              /* what is known of an event loop */
    enum py_loop_kind kind;   /* as it was found last */
    uintptr_t tasks;          /* the set that all tasks are in */
    uintptr_t self;           /* the loop; 0: not known, all tasks may be its own */
    uintptr_t coroutine_type; /* once one was found, */
    size_t coroutine_at;      /* and which word of a task it was */
    unsigned int missed;      /* how often there were no tasks where they should be */
};

/* A function of an event loop runs in that frame (its place in memory): where are its tasks? *loop
 * is filled, and is one for each kind, as it keeps what was found. False: they are not found.
 */
bool py_loop_find(const struct py_layout *l, const struct py_memory *m, uintptr_t frame,
                  enum py_loop_kind kind, struct py_loop *loop);

/* Up to `most` of its tasks that wait, spread over all of them; how many. */
size_t py_tasks_read(const struct py_layout *l, const struct py_memory *m, struct py_loop *loop,
                     struct py_task *tasks, size_t most);

#endif
