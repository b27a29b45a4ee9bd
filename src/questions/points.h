/* points - a timeline being filled: one row per tick until there are too many, then one for every
 * two, four, eight ... ticks. No peak is lost (table_fold).
 */
#ifndef QUESTIONS_POINTS_H
#define QUESTIONS_POINTS_H

#include "questions/table.h"

struct points {
    struct answer *answer;
    struct table *table;
    int most;            /* rows: an even number */
    uint64_t each, held; /* ticks in a row, and in the last row so far */
};

/* A new row for a tick, to be filled before points_done. */
struct table_cell *points_add(struct points *p);
void points_done(struct points *p);

#endif
