/* question - what can be asked of a trace; one file each, one line in QUESTIONS. Help, the manual
 * page, completion and errors are made from the descriptors.
 */
#ifndef QUESTIONS_QUESTION_H
#define QUESTIONS_QUESTION_H

#include "base/err.h"
#include "model/recorded.h"
#include "questions/table.h"

enum question_group { /* in the order of help */
                      QUESTION_OF_TRACE,
                      QUESTION_OF_SOURCE,
                      QUESTION_OF_ALLOCATIONS,
                      QUESTION_OF_TENSORS,
                      QUESTION_OF_CPU,
                      QUESTION_OF_COPIES,
                      QUESTION_OF_PROGRAM,
                      QUESTION_GROUPS
};

/* How help names a group, after "Of", and what it says of all its questions (or NULL). */
struct question_about {
    const char *of, *note;
};
extern const struct question_about question_groups[QUESTION_GROUPS];

struct asked { /* a question that is being answered */
    struct recorded *recorded;
    const struct selection *options;
    struct answer *answer;
    void *state;
};

struct question {
    const char *name;
    const char *summary; /* half a line, for help */
    enum question_group group;
    const char *more;   /* for help, right after the summary: "; the default of ..."; or NULL */
    const char *about;  /* for help: a paragraph of its own; or NULL */
    unsigned int reads; /* RECORDED_*: what of a trace it is about */
    bool of_lives;      /* what comes after a stretch of time matters to it: all is read, and
                         * options->finer says what is asked about */
    bool of_moment;     /* of_lives: it is about one moment, which --at chooses */
    size_t state;       /* bytes of its own from `begin` to `run`, zeroed */
    /* Before the trace is read, to listen to its ticks; once it was, to say what is to be taken
     * again. Both may be NULL.
     */
    void (*begin)(struct asked *q);
    void (*again)(struct asked *q);
    /* Fill the answer. 0, or -1 with *err. */
    int (*run)(struct asked *q, struct err *err);
};

/* All of them, in the order in which they are listed; the first is the default. A new question is
 * its file, a line here, and one in src/meson.build.
 */
#define QUESTIONS(X)                                                                               \
    X(summary)                                                                                     \
    X(overview)                                                                                    \
    X(findings)                                                                                    \
    X(lines)                                                                                       \
    X(functions)                                                                                   \
    X(cpu)                                                                                         \
    X(samples)                                                                                     \
    X(copies)                                                                                      \
    X(waits)                                                                                       \
    X(peak)                                                                                        \
    X(curve)                                                                                       \
    X(history)                                                                                     \
    X(leaks)                                                                                       \
    X(temporary)                                                                                   \
    X(sites)                                                                                       \
    X(tree)                                                                                        \
    X(histogram)                                                                                   \
    X(fragmentation)                                                                               \
    X(events)                                                                                      \
    X(threads)                                                                                     \
    X(decompose)                                                                                   \
    X(ops)                                                                                         \
    X(what_if)                                                                                     \
    X(inefficient)                                                                                 \
    X(steps)                                                                                       \
    X(regions)                                                                                     \
    X(snapshots)                                                                                   \
    X(oom)                                                                                         \
    X(watch)                                                                                       \
    X(spaces)                                                                                      \
    X(resident)                                                                                    \
    X(processes)                                                                                   \
    X(timeline)                                                                                    \
    X(devices)                                                                                     \
    X(resources)                                                                                   \
    X(page)

#define X(name) extern const struct question question_##name;
QUESTIONS(X)
#undef X

extern const struct question *const questions[]; /* NULL-terminated */
const struct question *question_find(const char *name);

/* What is shown of a trace where nothing was asked: lines where there is Python, else the first of
 * the list. The trace stands at its beginning afterwards.
 */
const struct question *question_default(struct trace *t);

/* Answer it of a recording. 0, or -1 with *err. */
int question_ask(const struct question *q, struct recorded *r, const struct selection *o,
                 struct answer *a, struct err *err);

/* Several at once, which reads the trace no more often than one does. `answers` and `errs` have one
 * for each; how many could not be answered.
 */
int question_ask_all(const struct question *const *list, int count, struct recorded *r,
                     const struct selection *o, struct answer *answers, struct err *errs);

#endif
