/* narrow - the options that narrow a question, from text to numbers. They are read when the trace is
 * open, because a time may be given as a part of the whole recording.
 */
#ifndef CLI_NARROW_H
#define CLI_NARROW_H

#include "analyze/question.h"

struct narrow { /* each NULL: not given */
    const char *from, *to, *at, *temporary, *limit, *suppressions;
};

/* Into *o, which is all 0; suppressions are read into the arena. */
int narrow_parse(const struct narrow *n, const struct trace *t, struct arena *a,
                 struct question_options *o, struct err *err);

/* One time of the trace; `option` is its name, for the sentence that refuses it. */
int narrow_moment(const char *option, const char *text, const struct trace *t, uint64_t *ns,
                  struct err *err);

#endif
