/* metrics - one value of each metric of one subject. */
#ifndef MODEL_METRICS_H
#define MODEL_METRICS_H

#include "trace/read.h"

#include <stdbool.h>
#include <stdint.h>

/* How many metrics each range has. */
#define METRICS_IN(whose, number)                                                                  \
    ((number) >= TRACE_FIRST_OF_##whose && (number) < TRACE_END_OF_##whose)
enum {
#define X(name, number, text, unit, cumulative) +METRICS_IN(PROCESS, number)
    METRICS_OF_PROCESS = 1 TRACE_METRICS(X), /* with 0, which is none */
#undef X
#define X(name, number, text, unit, cumulative) +METRICS_IN(MACHINE, number)
    METRICS_OF_MACHINE = 0 TRACE_METRICS(X),
#undef X
#define X(name, number, text, unit, cumulative) +METRICS_IN(CGROUP, number)
    METRICS_OF_CGROUP = 0 TRACE_METRICS(X),
#undef X
#define X(name, number, text, unit, cumulative) +METRICS_IN(DEVICE, number)
    METRICS_OF_DEVICE = 0 TRACE_METRICS(X),
#undef X
#define X(name, number, text, unit, cumulative) +METRICS_IN(RUN, number)
    METRICS_OF_RUN = 0 TRACE_METRICS(X),
#undef X
    METRICS_ROOM = METRICS_OF_PROCESS + METRICS_OF_RUN
};

/* Metrics of a process take the first places, those of the run alone the last; those of machine,
 * control group and device take the first as well, so each needs a set of its own.
 */
struct metrics {
    uint64_t value[METRICS_ROOM];
    uint64_t present; /* bit i: value[i] is known */
};

/* The place of a metric in a set; METRICS_ROOM: it has none. */
unsigned int metrics_place(uint64_t metric);
/* May this subject have the metric? Different subjects use one place for different metrics. */
bool metrics_belong(uint64_t subject, uint64_t metric);
/* Does the metric at this place add up over a tree, also of those that have ended? A high-water
 * mark only grows as well, but marks of different moments are no sum.
 */
bool metrics_counter(unsigned int place);

/* False where it is absent; then *value is as it was. */
bool metrics_get(const struct metrics *m, enum trace_metric metric, uint64_t *value);
bool metrics_has(const struct metrics *m, unsigned int place);
void metrics_set(struct metrics *m, unsigned int place, uint64_t value);
void metrics_raise(struct metrics *m, unsigned int place, uint64_t value);

/* Those of a SAMPLE that its subject may have. */
struct metrics metrics_of(const struct trace_event *sample);

/* What `from` knows takes the place of what is in `to`; values that it leaves out stay as they
 * were. */
void metrics_overlay(struct metrics *to, const struct metrics *from);

/* Its name and unit; NULL for a number unknown to this version. */
const char *metrics_name(uint64_t metric, enum trace_unit *unit);

#endif
