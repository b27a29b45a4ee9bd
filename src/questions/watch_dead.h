/* watch_dead - what the answer of `watch` says of memory that was freed before it was watched. */
#ifndef QUESTIONS_WATCH_DEAD_H
#define QUESTIONS_WATCH_DEAD_H

#include "model/watches.h"
#include "questions/question.h"

/* NULL: none was, as far as is known. */
const char *watch_dead_note(struct asked *q, const struct watches *w);

#endif
