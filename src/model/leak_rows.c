/* leak_rows - see leak_rows.h. */
#include "model/leak_rows.h"

#include "model/leak_trend.h"
#include "model/suppress.h"

static uint64_t weight(const struct heap_stack_sum *s)
{
    return s->at.bytes;
}

double leak_rows_freed_percent(const struct heap_stack_sum *s)
{
    double all = (double)s->sums.allocated.milliblocks, alive = (double)s->at.milliblocks;

    return alive < all ? 100 - alive / all * 100 : 0;
}

bool leak_rows_judge(const struct leak_rows *l, const struct heap_row *row, struct leak_verdict *v)
{
    struct heap_grown where;

    if (row == &l->rows.rest || !heap_growth_of(&l->growth, row, &where))
        return false;
    leak_trend(v, &l->growth, row, &where, leak_rows_freed_percent(&row->sum));
    return true;
}

/* Growing ones come first, and are added up. */
static void rank(struct heap_row *row, void *context)
{
    struct leak_rows *l = context;
    struct leak_verdict v;
    bool judged = leak_rows_judge(l, row, &v);

    row->rank = judged && v.trend == LEAK_GROWING;
    l->unclear_bytes += judged && v.trend == LEAK_UNCLEAR ? row->sum.at.bytes : 0;
    l->growing_bytes += row->rank ? row->sum.at.bytes : 0;
    l->growing_stacks += row->rank != 0;
}

/* What is left out takes no part in growth. */
static void leave_out(struct leak_rows *l, struct heap *h, struct suppress *suppress)
{
    l->alive = heap_at_asked(h, HEAP_AT_WORKED);
    suppress_apply(suppress, h, &l->alive);
    if (!h->options.all_leaks)
        known_leaks_apply(&l->known, h);
}

/* What lives at a moment that takes the events again is not known yet: then all stacks are
 * followed.
 */
void leak_rows_want(struct leak_rows *l, struct recorded *r, struct suppress *suppress)
{
    struct heap *h = &r->heap;

    *l = (struct leak_rows){0};
    l->known_before = h->options.at == SELECTION_AT_DEFAULT || h->options.at == SELECTION_AT_END;
    heap_want_asked(h, HEAP_AT_WORKED);
    if (l->known_before)
        leave_out(l, h, suppress);
    heap_growth_want(&l->growth, r, !l->known_before);
}

void leak_rows_read(struct leak_rows *l, struct suppress *suppress, uint64_t most)
{
    struct heap *h = l->growth.heap;

    if (l->known_before) {
        heap_at_asked(h, HEAP_AT_WORKED);
        heap_growth_keep(&l->growth);
    } else {
        leave_out(l, h, suppress);
    }
    l->reach_known = heap_reach_known(h);
    heap_rows_ranked(&l->rows, h, weight, most, rank, l);
}

void leak_rows_free(struct leak_rows *l)
{
    heap_growth_free(&l->growth);
}
