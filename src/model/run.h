/* run - a recording of `tidemark run`, read in one pass: its processes, and the state of the tree
 * and of the machine at every tick.
 *
 * Nothing is kept per sample. While it is read, `struct run` is the state at that moment, and who
 * listens is called once per tick; afterwards it is the state at the end. So memory grows
 * with the number of processes, and that number has a limit too.
 *
 * A tick is a sample of the whole run that has its resident memory. It is handed out when the
 * first later event or the end of a process arrives, so every sample with the same time belongs
 * to it, in any order.
 */
#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include "base/arena.h"
#include "base/err.h"
#include "model/run_data.h"

typedef void run_tick(const struct run *r, uint64_t time_ns, void *context);

/* Begin with an empty run in the arena of the names, whose strings it uses; call `tick` at every
 * tick, for each that listens; take all records of the trace in their order; end it. A trace that
 * lacks something is no error: r->health says what.
 */
void run_start(struct run *r, const struct names *texts, const struct trace_header *header);
void run_listen(struct run *r, run_tick *tick, void *context);
void run_take(struct run *r, const struct trace_event *ev);
void run_end(struct run *r, struct trace_health health);

/* Of the tree now: what the recorder summed, else the sum over the processes. */
bool run_tree(const struct run *r, enum trace_metric metric, uint64_t *value);
/* At the end: the recorder's own total, else the sum over the processes during the recording. */
bool run_total(const struct run *r, enum trace_metric metric, uint64_t *value);
/* What the recorder measured; else from the first process to the end of the last, or to where the
 * trace ends if one still ran.
 */
uint64_t run_duration(const struct run *r);
/* What a process has used of a counter in this incarnation and during the recording. */
bool run_own(const struct run_process *p, enum trace_metric metric, uint64_t *value);

#endif
