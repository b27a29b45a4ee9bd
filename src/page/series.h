/* series - numbers over time, as the kernel told them: each of a bounded number of points, the
 * greatest of an equal part of the time, or of what only grows the last. A stretch that is told
 * finer has as many points of its own.
 */
#ifndef PAGE_SERIES_H
#define PAGE_SERIES_H

#include "model/run.h"

#define SERIES_POINTS 1200u

struct series_point {
    uint64_t time_ns, value;
};

struct series {
    enum trace_subject subject;
    uint64_t id; /* of a process: its place */
    enum trace_metric metric;
    struct series_point *points;
    size_t count, room;
};

struct series_list { /* zeroed but for its times: none */
    uint64_t last_ns;
    uint64_t from_ns, to_ns; /* told finer; to_ns 0: nothing is */
    struct series *list;
    size_t count, room;
    size_t points; /* of all */
    struct intmap places;
};

run_tick series_tick; /* the context is the list */
void series_free(struct series_list *l);

#endif
