/* heap_twin - how much the largest of many estimates is too large.
 *
 * The live heap of a sampled recording goes up and down by chance as well, and its largest value is
 * where chance was kind: with much churn, far above the truth. So two estimates are followed whose
 * chances have nothing to do with each other: each block, which stands for b bytes with a standard
 * error e, counts b + e in one of them, by lot, and b - e in the other. (A block that stands for
 * many is in one and not in the other; one that is recorded each is the same in both.) Each says
 * when the peak was, and the other one how much lived then: that is not why the moment was chosen.
 * The mean of both is the peak; where it is less than the largest sum, all that was sampled is
 * reduced to it. A heap that only grows is largest at the same moment for both: there is nothing to
 * reduce.
 */
#include "model/heap_pass.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

#define PAGE_CLASS 12 /* of sizes below 4096 bytes */
#define LEAST 0.05    /* what is left of the sampled part at least */

/* By lot: it has nothing to do with sizes, and little with places. */
int heap_twin_half(const struct trace_event *ev)
{
    return (int)(hash_mix(hash_number(ev->alloc.address), ev->time_ns) & 1);
}

void heap_twin_add(struct heap_twin *t, int half, const struct heap_amount *a)
{
    double bytes = (double)a->bytes, error = sqrt(a->variance);

    t->live[half] += bytes + error;
    t->live[!half] += bytes - error;
    t->sampled += a->bytes;
}

void heap_twin_subtract(struct heap_twin *t, int half, const struct heap_amount *a)
{
    double bytes = (double)a->bytes, error = sqrt(a->variance);

    t->live[half] -= bytes + error;
    t->live[!half] -= bytes - error;
    t->sampled -= a->bytes;
}

void heap_twin_begin(struct heap_state *s)
{
    s->twin.most[0] = s->twin.most[1] = 0;
    s->twin.other[0] = s->twin.other[1] = 0;
    heap_twin_rose(s);
    s->twin.peak = s->twin.sampled;
}

/* Among moments that are the same to one, the larger: with few samples it says little. */
void heap_twin_rose(struct heap_state *s)
{
    struct heap_twin *t = &s->twin;
    double whole = (double)(s->live.bytes - t->sampled);

    for (int i = 0; i < 2; i++) {
        double seen = whole + t->live[i], other = whole + t->live[!i];
        double same = seen * 1e-9; /* what rounding leaves */

        if (seen < t->most[i] - same || (seen <= t->most[i] + same && other <= t->other[i]))
            continue;
        t->most[i] = seen;
        t->other[i] = other;
    }
}

/* What of the sampled bytes at the largest sum is the peak. */
static double part_of(const struct heap_process *p)
{
    const struct heap_twin *t = &p->state->twin;
    double whole = (double)p->peak.bytes - (double)t->peak;
    double peak = (t->other[0] + t->other[1]) / 2;
    double part = t->peak ? (peak - whole) / (double)t->peak : 1;

    return part > 1 ? 1 : part < LEAST ? LEAST : part;
}

/* That the moment may be the wrong one makes the peak less sure: by no more than its own error. */
static double spread_of(const struct heap_process *p)
{
    const struct heap_twin *t = &p->state->twin;
    double less = (double)t->peak * (1 - t->part), variance = p->peak.variance * t->part;

    return variance > 0 ? 1 + fmin(1, less * less / (4 * variance)) : 1;
}

/* The variance goes down with the number of samples that are left, not with its square. */
static void reduce(struct heap_amount *a, double part, double spread)
{
    a->bytes = text_rounded((double)a->bytes * part);
    a->milliblocks = text_rounded((double)a->milliblocks * part);
    a->variance *= part * spread;
    a->of_blocks *= part * spread;
}

/* The peaks of processes, of what their entries are reduced to. */
static void sum_up(struct heap *h)
{
    double sum = 0, reduced = 0;

    for (size_t i = 0; i < h->process_count; i++) {
        struct heap_twin *t = &h->processes[i]->state->twin;

        h->processes[i]->peak = t->largest;
        sum += (double)t->peak;
        reduced += (double)t->peak * t->part;
    }
    h->pass->twin_part = sum > 0 ? reduced / sum : 1;
    for (size_t i = 0; i < h->pass->sampled_count; i++) {
        const struct heap_sampled *e = &h->pass->sampled[i];
        struct heap_process *p = h->processes[e->process - 1];
        struct heap_amount was = *heap_sampled_peak(p->state, e), is = was;

        if (e->whole || !was.milliblocks)
            continue;
        reduce(&is, p->state->twin.part, p->state->twin.spread);
        heap_subtract(&p->peak, &was);
        heap_add(&p->peak, &is);
    }
}

void heap_twin_end(struct heap *h)
{
    for (size_t i = 0; i < h->process_count; i++) {
        struct heap_twin *t = &h->processes[i]->state->twin;

        t->largest = h->processes[i]->peak;
        t->part = part_of(h->processes[i]);
        t->spread = spread_of(h->processes[i]);
    }
    sum_up(h);
}

/* What the processes held together at the most is proved, unless something was swapped out. */
static bool resident_most(const struct run *r, double *bytes)
{
    uint64_t most, swapped;

    for (size_t i = 0; i < r->process_count; i++)
        if (metrics_get(&r->processes[i]->most, METRIC_SWAP, &swapped) && swapped)
            return false;
    if (!metrics_get(&r->final, METRIC_PEAK_UPPER, &most))
        return false;
    *bytes = (double)most;
    return true;
}

/* Blocks that are smaller than a page touch it, if only by what the allocator notes beside them: no
 * more of them lived than was ever resident.
 */
bool heap_twin_bound(struct heap *h)
{
    double *small = memory_zeroed((h->process_count + 1) * sizeof(*small)), most = 0;
    bool known = resident_most(h->run, &most), any = false;

    for (size_t i = 0; i < h->pass->sampled_count; i++) {
        const struct heap_sampled *e = &h->pass->sampled[i];

        if (!e->whole && e->size_class <= PAGE_CLASS)
            small[e->process - 1] +=
                (double)heap_sampled_peak(h->processes[e->process - 1]->state, e)->bytes;
    }
    for (size_t i = 0; i < h->process_count; i++) {
        struct heap_twin *t = &h->processes[i]->state->twin;

        if (!known || small[i] * t->part <= most)
            continue;
        t->part = most / small[i];
        any = true;
    }
    free(small);
    if (any)
        sum_up(h);
    return any;
}

void heap_twin_at_peak(struct heap *h)
{
    for (size_t i = 0; i < h->pass->sampled_count; i++) {
        struct heap_sampled *e = &h->pass->sampled[i];
        const struct heap_twin *t = &h->processes[e->process - 1]->state->twin;
        double part = h->process_count > 1 ? h->pass->twin_part : t->part;

        if (!e->whole && part < 1)
            reduce(&e->at, part, t->spread);
    }
}
