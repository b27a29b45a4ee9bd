/* headline - the one sentence on a recording: how long, how much, when. */
#ifndef QUESTIONS_HEADLINE_H
#define QUESTIONS_HEADLINE_H

#include "model/heap.h"

/* In the arena. */
const char *headline(struct arena *a, const struct heap *h);

#endif
