/* pytasks - what the tasks of asyncio await, read by offset: while an event loop waits, its stack says where
 * the loop was started, and the coroutines of its tasks say what is waited for.
 *
 * Known of 3.9 to 3.13. Nothing is called and nothing is locked: the thread of the loop must stand still.
 */
#ifndef PYTHON_PYTASKS_H
#define PYTHON_PYTASKS_H

#include "python/pyframes.h"

#define PY_TASK_FRAMES 16
#define PY_TASK_HEARERS 12

struct py_task {
    uintptr_t task, waits_for; /* waits_for: a future, which may be a task; 0: not known */
    /* What is called when it ends knows these: among them who waits for it, or for several. */
    uintptr_t hearers[PY_TASK_HEARERS];
    size_t hearer_count;
    struct py_frame frames[PY_TASK_FRAMES]; /* of its coroutines, the outermost first */
    size_t count;
};

struct py_loop {              /* what is known of an event loop */
    uintptr_t tasks;          /* the set that all tasks are in */
    uintptr_t self;           /* the loop; 0: not known, all tasks may be its own */
    uintptr_t coroutine_type; /* once one was found, */
    size_t coroutine_at;      /* and which word of a task it was */
    unsigned int missed;      /* how often there were no tasks where they should be */
};

/* Is this frame of a function in that file one of an event loop; and where are its tasks? *l is filled.
 * `frame` is where the frame is in memory.
 */
bool py_loop_find(const struct py_layout *l, const struct py_memory *m, uintptr_t frame,
                  bool runs_once, struct py_loop *loop);

/* Up to `most` of its tasks that wait, spread over all of them; how many. */
size_t py_tasks_read(const struct py_layout *l, const struct py_memory *m, struct py_loop *loop,
                     struct py_task *tasks, size_t most);

#endif
