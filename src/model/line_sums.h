/* line_sums - everything that a recording knows of a line of source and of a function: CPU time,
 * waits, memory, copies. The lines, with those that stand for code outside of the scope, add up to
 * the whole.
 */
#ifndef MODEL_LINE_SUMS_H
#define MODEL_LINE_SUMS_H

#include "model/blame.h"
#include "model/cpu_time.h"
#include "model/heap.h"
#include "model/heap_series.h"
#include "model/holders.h"
#include "model/pools.h"
#include "model/recorded.h"

struct line_sum {
    struct cpu_sums cpu;
    struct heap_amount allocated, python; /* python: by its own allocators, a part of it */
    struct heap_amount at_peak, alive;
    uint64_t mapped_at_peak; /* bytes of at_peak that are mapped or shared */
    uint32_t mark;           /* line_sums' own */
};

struct line_sums {
    struct recorded *recorded;
    struct heap *heap;
    const struct frames *frames;
    const struct cpu_time *time;
    struct scope scope;
    struct blame blame;
    bool followed; /* the series are known */
    struct heap_series series;
    struct line_sum *lines;           /* by line of blame */
    struct line_sum *selves, *totals; /* by function of blame; totals: with what it called */
    struct line_sum sum;              /* of all lines */
    bool cpu_known, waits_known, copies_known, memory_known; /* was it recorded at all? */
    uint64_t walked; /* frames of those who started threads */
    struct holders holders;
    struct pools pools;
};

/* What is to be read of a recording for it, which is read once by then: find out which line each
 * stack belongs to, and have the events taken again; series: what each line held over time, too.
 * Read it when they were.
 */
#define LINE_SUMS_READS                                                                            \
    (RECORDED_HEAP | RECORDED_CREATORS | RECORDED_CPU | RECORDED_SOURCES | RECORDED_RUN)
void line_sums_want(struct line_sums *s, struct recorded *r, const struct selection *o,
                    bool series);
void line_sums_read(struct line_sums *s);
void line_sums_free(struct line_sums *s);

/* What a line below SCOPE_KINDS stands for, as "(the standard library)". */
const char *line_sums_kind(const struct line_sums *s, struct arena *a, uint32_t line);
/* Nothing is known of it at all. */
bool line_sum_is_empty(const struct line_sum *l);
void line_sum_add(struct line_sum *to, const struct line_sum *from);
/* What decides its place: its largest share of anything, 0 to 1. */
double line_sums_weight(const struct line_sums *s, const struct line_sum *l);

#endif
