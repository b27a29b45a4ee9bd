/* covered - how much of a recorded trace was recorded from inside: the last line of every report.
 */
#ifndef MODEL_COVERED_H
#define MODEL_COVERED_H

#include "model/run.h"
#include "model/values.h"

/* Who was recorded, of a run that was read to its end; NULL: nobody asked for that, as with a plain
 * `tidemark run`. In the run's arena.
 */
const struct table_coverage *covered(const struct run *r);

/* "blocks of 4.0 KiB and more exactly, smaller ones sampled", with since when, and where that could
 * not be kept up; NULL: it was not asked for, and no process had a framework of deep learning.
 */
const char *covered_whole(const struct run *r);

/* Of a process that ran before: what it held then is in no record. NULL: not so; else half a
 * sentence.
 */
const char *covered_since(const struct run *r);

#endif
