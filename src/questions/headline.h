/* headline - the one sentence on a recording: how long, how much, when, in which region,
 * and whose line. */
#ifndef QUESTIONS_HEADLINE_H
#define QUESTIONS_HEADLINE_H

#include "model/line_sums.h"

/* In the arena. The sums were read, of a recording with its regions. */
const char *headline(struct arena *a, const struct line_sums *s);

#endif
