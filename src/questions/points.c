/* points - see points.h. */
#include "questions/points.h"

struct table_cell *points_add(struct points *p)
{
    return table_add(p->answer, p->table);
}

void points_done(struct points *p)
{
    if (p->each == 0)
        p->each = 1;
    if (p->held == p->each)
        p->held = 0;
    if (p->held > 0)
        table_fold(p->table);
    p->held++;
    if (p->table->rows == p->most && p->held == p->each) {
        table_halve(p->table);
        p->each *= 2;
        p->held = p->each;
    }
}
