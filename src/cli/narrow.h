/* narrow - the options that narrow a question, from text to numbers. They are read when the trace
 * is open, because a time may be given as a part of the whole recording, or by a name that the
 * program has given it.
 */
#ifndef CLI_NARROW_H
#define CLI_NARROW_H

#include "questions/question.h"

#define NARROW_LABELS_MOST 8

struct narrow { /* each NULL: not given */
    bool all_leaks;
    bool moments; /* `from` is not where a stretch of time begins, but a moment */
    const char *from, *to, *at, *temporary, *limit, *suppressions;
    const char *step, *born_in, *space, *process, *rank;
    const char *labels[NARROW_LABELS_MOST]; /* KEY or KEY=VALUE */
    unsigned int label_count;
};

/* The parse function of an option for labels, with a struct narrow. */
int narrow_add_label(const char *text, void *to, struct err *err);

/* Into *o, which is all 0; suppressions and texts are in the arena. A name takes a pass over the
 * trace. What *o refers to is freed by narrow_free.
 */
int narrow_parse(const struct narrow *n, struct trace *t, struct arena *a, struct selection *o,
                 struct err *err);
void narrow_free(struct selection *o);

#endif
