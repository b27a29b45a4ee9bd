/* region_read - the named spans of a trace, each with what happened in it. */
#ifndef MODEL_REGION_READ_H
#define MODEL_REGION_READ_H

#include "base/intmap.h"
#include "model/heap_moments.h"
#include "model/highest.h"

struct region_span {
    const char *name;
    uint64_t thread, process;
    uint64_t parent;          /* place + 1 in the list; 0: none */
    uint64_t from_ns, to_ns;  /* to_ns 0: it never ended */
    uint64_t inner_ns;        /* of the regions in it */
    uint64_t cpu_ns, samples; /* of its own thread */
    double cpu_squares;
    bool heap_known, rss_known;
    uint64_t heap_before, heap_after, heap_most; /* of its process */
    uint64_t rss_before, rss_after, rss_most;    /* of the tree, as sampled */
};

struct region_list {
    struct region_span *spans; /* in the order of their beginnings in the trace */
    size_t count, room;
    uint64_t most;     /* of them, and of samples */
    uint64_t left_out; /* above the limit of this reader */
    bool cpu_known;    /* the trace has CPU samples at all */
    struct intmap places;
    struct region_sample {
        uint64_t thread, time_ns, ns, sum_ns;
        double squares;
    } * samples;
    size_t sample_count, sample_room;
    struct region_point {
        uint64_t time_ns, rss;
    } * points;
    size_t point_count, point_room;
    struct highest highest; /* of the points */
    uint64_t from_ns, to_ns;
    const struct names *names;
    struct heap_moments moments;
};

/* Take a REGION, REGION_END or CPU of the stretch; others are left alone. `names` has the strings.
 */
void region_start(struct region_list *l, const struct names *names, const struct selection *o);
void region_take(struct region_list *l, const struct trace_event *ev);
/* Of a run: its resident memory over time; the context is the list. */
run_tick region_tick;
/* All was taken. */
void region_end(struct region_list *l);

/* The heap of each span's own process takes the events again, by h->replay; add it when they were.
 */
void region_want_heap(struct region_list *l, struct heap *h);
void region_add_heap(struct region_list *l);
struct region_rss { /* of the tree, as sampled */
    uint64_t before, after, most;
};

/* Known where a sample was taken between, else nothing was seen of it: false. */
bool region_rss(const struct region_list *l, uint64_t from_ns, uint64_t to_ns,
                struct region_rss *out);
void region_list_free(struct region_list *l);

#endif
