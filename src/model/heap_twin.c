/* heap_twin - how much the largest of many estimates is too large.
 *
 * The live heap of a sampled recording goes up and down by chance as well, and its largest value is
 * where chance was kind: with much churn, far above the truth. So two estimates are followed whose
 * chances have nothing to do with each other: each block, which stands for b bytes with a standard
 * error e, counts b + e in one of them, by lot, and b - e in the other. (A block that stands for
 * many is in one and not in the other; one that is recorded each is the same in both.) Each says
 * when the peak was, and the other one how much lived then: that is not why the moment was chosen.
 * The mean of both is the peak, and of eight such pairs, so that the lots themselves do not matter
 * much; where it is less than the largest sum, all that was sampled is reduced to it. A heap that
 * only grows is largest at the same moment for both: there is nothing to reduce.
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
uint8_t heap_twin_lots(const struct trace_event *ev)
{
    return (uint8_t)hash_mix(hash_number(ev->alloc.address), ev->time_ns);
}

static void move(struct heap_twin *t, uint8_t lots, double error)
{
    for (int i = 0; i < HEAP_TWIN_LOTS; i++)
        t->lots[i].ahead += lots >> i & 1 ? error : -error;
}

void heap_twin_add(struct heap_twin *t, uint8_t lots, const struct heap_amount *a)
{
    move(t, lots, sqrt(a->variance));
    t->sampled += a->bytes;
}

void heap_twin_subtract(struct heap_twin *t, uint8_t lots, const struct heap_amount *a)
{
    move(t, lots, -sqrt(a->variance));
    t->sampled -= a->bytes;
}

void heap_twin_begin(struct heap_state *s)
{
    for (int i = 0; i < HEAP_TWIN_LOTS; i++) {
        s->twin.lots[i].most[0] = s->twin.lots[i].most[1] = 0;
        s->twin.lots[i].other[0] = s->twin.lots[i].other[1] = 0;
    }
    s->twin.exact = 0;
    heap_twin_rose(s);
    s->twin.peak = s->twin.sampled;
}

/* Among moments that are the same to one, the larger: with few samples it says little. */
void heap_twin_rose(struct heap_state *s)
{
    struct heap_twin *t = &s->twin;
    double live = (double)s->live.bytes, whole = live - (double)t->sampled;

    t->exact = whole > t->exact ? whole : t->exact;
    for (int i = 0; i < 2 * HEAP_TWIN_LOTS; i++) {
        double *most = &t->lots[i / 2].most[i % 2], *other = &t->lots[i / 2].other[i % 2];
        double ahead = t->lots[i / 2].ahead * (i % 2 ? -1 : 1), seen = live + ahead;
        double same = seen * 1e-9; /* what rounding leaves */

        if (seen < *most - same || (seen <= *most + same && live - ahead <= *other))
            continue;
        *most = seen;
        *other = live - ahead;
        t->lots[i / 2].whole[i % 2] = whole;
    }
}

/* What of the sampled bytes at the largest sum is the peak. What is exact then is known: that one
 * of them has chosen a moment with less of it takes nothing from it. What lives at the end, and
 * when an interpreter begins to free all it has, was not chosen at all.
 */
static double part_of(const struct heap_process *p, size_t entries)
{
    const struct heap_twin *t = &p->state->twin;
    double whole = (double)p->peak.bytes - (double)t->peak, peak = 0, missed = 0, part;
    double last = fmax((double)p->state->live.bytes, (double)p->worked.bytes);

    for (int i = 0; i < 2 * HEAP_TWIN_LOTS; i++) {
        peak += t->lots[i / 2].other[i % 2] / (2 * HEAP_TWIN_LOTS);
        missed += (whole - t->lots[i / 2].whole[i % 2]) / (2 * HEAP_TWIN_LOTS);
    }
    peak += missed > 0 ? missed : 0;
    peak = fmax(peak, fmax(t->exact, last + (double)entries)); /* which are rounded, each */
    part = t->peak ? (peak - whole) / (double)t->peak : 1;
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
        t->part = part_of(h->processes[i], h->pass->sampled_count);
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

/* A stretch has fewer moments to choose from than the whole recording, so its estimate may be
 * higher. Each entry is rounded by itself.
 */
bool heap_twin_within(struct heap *h, const struct heap *whole)
{
    bool any = false;

    for (size_t i = 0; i < h->process_count; i++) {
        const struct heap_process *p = h->processes[i], *of = heap_process_of(whole, p->number);
        struct heap_twin *t = &p->state->twin;

        if (!of || !t->peak || p->peak.bytes <= of->peak.bytes)
            continue;
        t->part -= (double)(p->peak.bytes - of->peak.bytes + h->pass->sampled_count) /
                   (double)t->peak;
        t->part = t->part > 0 ? t->part : 0;
        any = true;
    }
    if (any)
        sum_up(h);
    return any;
}

void heap_twin_move(struct heap *h, uint64_t from, uint64_t to)
{
    double by = (double)to - (double)from, rounded = (double)h->pass->sampled_count, sum = 0, part;

    for (size_t i = 0; i < h->pass->sampled_count; i++)
        sum += h->pass->sampled[i].whole ? 0 : (double)h->pass->sampled[i].at.bytes;
    part = sum > 0 ? 1 + (by + (by < 0 ? -rounded : rounded)) / sum : 1;
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        if (!h->pass->sampled[i].whole)
            reduce(&h->pass->sampled[i].at, part > 0 ? part : 0, 1);
}

uint64_t heap_twin_least(const struct heap *h)
{
    uint64_t least = 0;

    for (size_t i = 0; i < h->process_count; i++)
        if (h->processes[i]->peak.bytes > least)
            least = h->processes[i]->peak.bytes;
    return least;
}
