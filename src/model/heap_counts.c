/* heap_counts - see heap_counts.h. */
#include "model/heap_counts.h"

#include "model/heap_pass.h"

#include <math.h>

#define SURE 7.6     /* distances in one block: its weight, in thousandths, is 1000 */
#define BOUND_95 3.0 /* distances without a sample: one of twenty */

/* A block that is far larger than the distance says only that it is. */
void heap_note_mean(struct heap_pass *s, const struct heap_amount *a, uint64_t bytes)
{
    double weight = (double)a->milliblocks / 1000, size = (double)bytes + 1, mean;

    if (weight <= 1.0005) {
        mean = size / SURE;
        s->mean_most = s->mean_most > 0 && s->mean_most < mean ? s->mean_most : mean;
        return;
    }
    mean = size / -log1p(-1 / weight);
    s->mean = mean > s->mean ? mean : s->mean;
}

uint64_t heap_row_least(const struct heap_row *row)
{
    return row->stack && row->sum.seen.any ? row->sum.seen.least : HEAP_COUNTS_LEAST;
}

/* Was every block of this size and more recorded, at all times? */
static bool is_whole(const struct run *r, uint64_t least)
{
    return r && r->whole_from && least >= r->whole_from && least >= r->whole_most;
}

double heap_counts_error(const struct heap *h, const struct heap_amount *a, uint64_t least)
{
    double blocks = (double)a->milliblocks / 1000, more = h->mean / ((double)least + 1);
    bool whole = is_whole(h->run, least);

    if (!h->sampled || !(blocks > 0) || (whole && !(a->of_blocks > 0)))
        return -1;
    if (whole || more < 1) /* every one is taken */
        more = 0;
    return sqrt(a->of_blocks + more * more) / blocks * 100;
}

double heap_whole_error(const struct heap *h, const struct heap_amount *a)
{
    if (!h->sampled || !a->bytes)
        return -1;
    return sqrt(a->variance + 2 * h->mean * h->mean) / (double)a->bytes * 100;
}

uint64_t heap_counts_bound(const struct heap *h)
{
    double bound = BOUND_95 * h->mean;

    return bound < 0x1p63 ? (uint64_t)bound : UINT64_MAX;
}
