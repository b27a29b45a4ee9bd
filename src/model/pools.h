/* pools - whose work a thread does that has no line of the program in its stack: a worker of BLAS,
 * of OpenMP, of a library's own threads.
 *
 * Native workers work for the line of Python whose thread is, at that moment, in the same function
 * or library, or waits for them; threads of a library that run Python, for the line that waits for
 * it, or that started them where nothing else was waited for since. So samples are joined by time:
 * what the threads of Python did around a sample is looked up when the events around it were read.
 * Nothing is divided: a sample has one line.
 *
 * The first thread of a process is asked about in the processes that it descends from, in the same
 * way.
 *
 * A native worker that nobody can be found for is of no line (SCOPE_WORKERS), and what a thread
 * waits in which has no line is no wait of the program: it has nothing to do (SCOPE_IDLE).
 */
#ifndef MODEL_POOLS_H
#define MODEL_POOLS_H

#include "model/pool_state.h"
#include "model/run.h"

/* When all of a trace is known once; then take its events again, in order, and end it. */
void pools_start(struct pools *p, const struct blame *b, const struct cpu_time *time,
                 struct threads *threads, const struct run *r, const struct heap *h,
                 struct arena *a);
void pools_take(void *pools, const struct trace_event *ev);
void pools_take_exact(void *pools, const struct heap_change *c);
/* Which of these it takes. */
/* May it be of a pool? Others are of their own lines, whatever thread they are of. */
bool pools_may_own(const struct pools *p, uint64_t stack);
bool pools_want(void *pools, const struct heap_process *process, uint64_t stack);
void pools_end(struct pools *p);
void pools_free(struct pools *p);

/* Is it for pools to say whose the time of this thread in this stack is? */
bool pools_own(const struct pools *p, const struct threads_thread *thread, uint64_t stack);

#endif
