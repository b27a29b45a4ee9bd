/* question - what can be asked of a trace; one file each, one line in question.c. */
#ifndef ANALYZE_QUESTION_H
#define ANALYZE_QUESTION_H

#include "analyze/table.h"
#include "base/err.h"
#include "trace/read.h"

struct question {
    const char *name;
    const char *summary; /* half a line, for help */
    /* Fill `a` from the whole trace (it stands at its beginning). 0, or -1 with *err. */
    int (*run)(struct trace *t, struct answer *a, struct err *err);
};

extern const struct question question_summary, question_processes, question_timeline,
    question_resources;

/* NULL-terminated; the first is the default. */
extern const struct question *const questions[];
const struct question *question_find(const char *name);

#endif
