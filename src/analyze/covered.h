/* covered - how much of a recorded trace was recorded from inside: the last line of every report. */
#ifndef ANALYZE_COVERED_H
#define ANALYZE_COVERED_H

#include "analyze/run.h"
#include "analyze/table.h"

/* Who was recorded, of a run that was read to its end; NULL: nobody asked for that, as with a plain
 * `tidemark run`. In the run's arena.
 */
const struct table_coverage *covered(const struct run *r);

/* What every answer says of its trace: what it lacks, and who was recorded. */
void covered_answer(struct answer *a, const struct run *r);

#endif
