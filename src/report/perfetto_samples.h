/* perfetto_samples - samples of CPU time as spans, one in the other, for each thread: a flame over
 * time. Samples that follow each other are one span as far as their stacks agree.
 */
#ifndef REPORT_PERFETTO_SAMPLES_H
#define REPORT_PERFETTO_SAMPLES_H

#include "base/emit.h"
#include "questions/table.h"

/* Spans of a thread that are no regions are of a thread of their own: its number and this. */
#define PERFETTO_SAMPLES_TID ((uint64_t)1 << 24) /* above what Linux gives */

void perfetto_samples(struct emit *j, const struct answer *a);

#endif
