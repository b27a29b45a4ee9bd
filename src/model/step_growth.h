/* step_growth - what each stack holds at the ends of a process's steps, and whether that grows from
 * step to step. Judged is the loop with the most steps of each process, from the end of its first
 * step on: what that one makes once is no growth. A series is growing    it still grows in the
 * second half of the steps, at least half as fast as in the first, gives back at most a tenth of
 * what it gains, and is as steady by chance in one of twenty at most grew once  it grew, but not in
 * the second half: a cache that was filled steady     what came also went unclear    none of these,
 * or there are fewer than STEP_GROWTH_LEAST steps
 */
#ifndef MODEL_STEP_GROWTH_H
#define MODEL_STEP_GROWTH_H

#include "model/heap_replay.h"
#include "model/heap_rows.h"
#include "model/moments.h"

#define STEP_GROWTH_POINTS 64u
#define STEP_GROWTH_LEAST 6u /* steps */

enum step_trend { STEP_STEADY, STEP_GREW_ONCE, STEP_UNCLEAR, STEP_GROWING };

struct step_points {                 /* at the ends of which steps of a loop it is looked */
    const struct moments_loop *loop; /* NULL: the process has none with two steps */
    unsigned int count;
    uint64_t times[STEP_GROWTH_POINTS];
    size_t steps[STEP_GROWTH_POINTS]; /* places in the loop */
    uint64_t row;                     /* that was looked at last */
};

struct step_verdict {
    enum step_trend trend;
    double per_step;      /* bytes: the median of the slopes between all pairs of points */
    uint64_t first, last; /* bytes at the first point and at the last */
    unsigned int rises;   /* steps in which it grew, where all of them are points */
    double variance;      /* of last - first; 0: exact */
    uint32_t place;       /* 1 + that of its process in heap.processes */
};

struct step_growth { /* zeroed: empty */
    struct heap *heap;
    struct step_points *points; /* by place in heap.processes */
    struct step_track *tracks;  /* what one process holds of one stack */
    size_t count, room;
    uint64_t row;         /* how many were looked at */
    struct intmap places; /* process << 32 | stack -> 1 + place in tracks */
    uint32_t *firsts;     /* by place in heap.stacks: 1 + its first track, `next` leads on */
};

/* The heap takes the events again, by h->replay. */
void step_growth_want(struct step_growth *g, struct heap *h, const struct moments *m);
/* They were taken: `at` of the heap's stacks is what they held at the last point, and `held` is not
 * 0 where they held something at any.
 */
void step_growth_end(struct step_growth *g);

/* The growth of a row, in the process where it is the largest. False: it holds the same at every
 * point.
 */
bool step_growth_of(struct step_growth *g, const struct heap_row *row, struct step_verdict *out);
/* Any series of numbers at the ends of steps. */
void step_growth_judge(const struct step_points *p, const double *y, struct step_verdict *out);
void step_growth_points(struct step_points *p, const struct moments_loop *loop);
void step_growth_free(struct step_growth *g);

#endif
