/* region_read - the named spans of a trace, each with what happened in it. */
#ifndef ANALYZE_REGION_READ_H
#define ANALYZE_REGION_READ_H

#include "analyze/heap.h"
#include "base/intmap.h"

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
};

/* Reads the trace three times. `h` is filled as heap_read does it. */
void region_read(struct region_list *l, struct heap *h, struct arena *arena, struct trace *t,
                 const struct question_options *o);
void region_list_free(struct region_list *l);

#endif
