/* question - what can be asked of a trace; one file each, one line in question.c. */
#ifndef ANALYZE_QUESTION_H
#define ANALYZE_QUESTION_H

#include "analyze/table.h"
#include "base/err.h"
#include "trace/read.h"

enum question_at {
    QUESTION_AT_DEFAULT, /* the question's own moment: the end for `leaks`, else the peak */
    QUESTION_AT_PEAK,    /* the largest live heap of the stretch that is asked about */
    QUESTION_AT_END,
    QUESTION_AT_TIME, /* at_ns */
};

#define QUESTION_TEMPORARY_MOST 15

/* How a question is narrowed; zeroed: the whole trace and each question's own defaults. */
struct question_options {
    uint64_t from_ns, to_ns; /* the stretch of time; to_ns 0: to the end */
    enum question_at at;
    uint64_t at_ns;
    bool inverted; /* `tree`: from the allocating function to its callers */
    /* A block is temporary when its thread made fewer than so many allocations between its own and
     * its free; 0: 1, that is none. At most QUESTION_TEMPORARY_MOST.
     */
    unsigned int temporary;
    struct suppress *suppress;       /* `leaks`: what it leaves out and counts; NULL: nothing */
    uint64_t rows;                   /* rows of a list, at most; 0: the question's own limit */
    const struct scope_rules *scope; /* `lines` and its kin: whose files; NULL: the program's own */
};

struct question {
    const char *name;
    const char *summary; /* half a line, for help */
    /* Fill `a` from the trace (it stands at its beginning). 0, or -1 with *err. */
    int (*run)(struct trace *t, const struct question_options *o, struct answer *a,
               struct err *err);
};

extern const struct question question_cpu, question_summary, question_processes, question_timeline,
    question_resources, question_peak, question_leaks, question_temporary, question_sites,
    question_resident, question_tree, question_copies, question_histogram, question_threads,
    question_lines, question_functions, question_waits, question_regions;

/* NULL-terminated; the first is the default. */
extern const struct question *const questions[];
const struct question *question_find(const char *name);

/* What is shown of a trace where nothing was asked: lines where there is Python, else the first of
 * the list. The trace stands at its beginning afterwards.
 */
const struct question *question_default(struct trace *t);

#endif
