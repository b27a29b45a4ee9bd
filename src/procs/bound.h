/* bound - what is proved of the most memory that a changing set of processes held at one moment.
 *
 * Known at a sample: each process's memory now, and its high-water mark since it began. So between
 * two samples the set held at most the sum of the marks at the later one, plus the final marks of
 * those that ended in between. A final mark that nobody saw is at most the largest mark of any
 * process (`bound_single`), which is known at the end: wait4 reports it.
 */
#ifndef PROCS_BOUND_H
#define PROCS_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOUND_CORNERS 16

struct bound {
    uint64_t lower;   /* held at one moment, for certain */
    uint64_t single;  /* the largest mark that one process had, for certain */
    uint64_t largest; /* and at most */
    struct {
        uint64_t known, unknown; /* bytes, processes */
    } corners[BOUND_CORNERS];    /* the intervals that no other one dominates */
    size_t count;
    const char *open; /* why there is no upper bound; NULL: there is one */
};

/* This much was held at one moment. */
void bound_sum(struct bound *b, uint64_t bytes);
/* One process held this much at some moment. */
void bound_single(struct bound *b, uint64_t bytes);
/* No process held more than this, though perhaps none held as much. */
void bound_largest(struct bound *b, uint64_t bytes);
/* In one interval: marks that sum to `known`, and `unknown` processes whose final mark is not
 * known.
 */
void bound_interval(struct bound *b, uint64_t known, uint64_t unknown);
/* The largest mark is not known after all: no upper bound where one was needed. */
void bound_unknown(struct bound *b, const char *why);
/* There can be no upper bound; the first reason stays. */
void bound_open(struct bound *b, const char *why);

/* UINT64_MAX: none. Never below the lower bound. */
uint64_t bound_upper(const struct bound *b);

#endif
