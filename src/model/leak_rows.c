/* leak_rows - see leak_rows.h. */
#include "analyze/leak_rows.h"

#include "analyze/suppress.h"
#include "analyze/trend.h"

#define CHANCE_MOST 0.01

#define LAST (HEAP_GROWTH_POINTS - 1)
#define JUDGED (HEAP_GROWTH_POINTS / 3 - 1) /* the point at which the last two thirds begin */
#define SIXTH (HEAP_GROWTH_POINTS * 5 / 6 - 1)
#define JUDGED_POINTS (HEAP_GROWTH_POINTS - JUDGED)

static uint64_t weight(const struct heap_stack *s)
{
    return s->at.bytes;
}

double leak_rows_freed_percent(const struct heap_stack *s)
{
    double all = (double)s->sums.allocated.milliblocks, alive = (double)s->at.milliblocks;

    return alive < all ? 100 - alive / all * 100 : 0;
}

bool leak_rows_judge(const struct leak_rows *l, const struct heap_row *row, struct leak_verdict *v)
{
    struct heap_grown grown;

    if (row == &l->rows.rest || !heap_growth_of(&l->growth, row, &grown))
        return false;
    *v = (struct leak_verdict){.trend = LEAK_STEADY, .quarter = grown.quarter};
    v->chance = trend_chance(grown.bytes + JUDGED, JUDGED_POINTS);
    v->slope = trend_slope(grown.bytes + JUDGED, JUDGED_POINTS) * 1e9 / (double)grown.step_ns;
    if (grown.bytes[LAST] > grown.bytes[SIXTH] && v->slope > 0 && v->chance <= CHANCE_MOST)
        v->trend = LEAK_GROWING;
    else if (leak_rows_freed_percent(&row->sum) < 50)
        v->trend = grown.bytes[LAST] > grown.bytes[SIXTH] ? LEAK_UNCLEAR : LEAK_GREW_ONCE;
    return true;
}

/* Growing ones come first, and are added up. */
static void rank(struct heap_row *row, void *context)
{
    struct leak_rows *l = context;
    struct leak_verdict v;

    row->rank = leak_rows_judge(l, row, &v) && v.trend == LEAK_GROWING;
    l->growing_bytes += row->rank ? row->sum.at.bytes : 0;
    l->growing_stacks += row->rank != 0;
}

void leak_rows_read(struct leak_rows *l, struct heap *h, struct trace *t, struct suppress *suppress,
                    uint64_t most)
{
    *l = (struct leak_rows){.alive = heap_at_asked(h, t, HEAP_AT_WORKED)};
    suppress_apply(suppress, h, &l->alive);
    heap_growth_read(&l->growth, h, t);
    heap_rows_ranked(&l->rows, h, weight, most, rank, l);
}

void leak_rows_free(struct leak_rows *l)
{
    heap_growth_free(&l->growth);
}
