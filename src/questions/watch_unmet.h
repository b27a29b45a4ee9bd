/* watch_unmet - of the question watch: names that record --watch was given, and that no tensor had.
 */
#ifndef QUESTIONS_WATCH_UNMET_H
#define QUESTIONS_WATCH_UNMET_H

#include "model/watches.h"
#include "questions/question.h"

struct watch_unmet {
    const struct names *names;
    const char *why; /* what the recorded program says of it; NULL: nothing */
};

/* For recorded_take_first. */
void watch_unmet_take(void *unmet, const struct trace_event *ev);
/* A sentence that names them; NULL: there are none. */
const char *watch_unmet_note(struct asked *q, const struct watch_unmet *u, const struct watches *w);

#endif
