/* leak_trend - see leak_trend.h. Each place that is looked at is a chance more to be wrong: those
 * that are tried besides the first must be surer.
 */
#include "model/leak_trend.h"

#include "model/trend.h"

#include <math.h>

#define POINTS 36u /* thirds, quarters and sixths are among them */
#define LAST (POINTS - 1)
#define JUDGED (POINTS / 3 - 1) /* the point at which the last two thirds begin */
#define SIXTH (POINTS * 5 / 6 - 1)

#define CHANCE_MOST 0.01
#define CHANCE_ELSEWHERE 0.0025
#define PARTS 3 /* the last half, quarter and eighth */
/* of what came in such a part: how far above its start it ever was before */
#define OVER_MOST 0.25
#define PHASE_LEAST 10 /* moments of a phase: with fewer no series is sure enough */
#define KEPT_LEAST 0.9 /* of what it held at the end of a phase must still live */

#define WEIGHT_SURE 1.05 /* blocks that a sample stands for: here no other was missed */
#define UNSEEN_MOST 0.01 /* the chance that more came and no sample was among it */
#define SEEN_LEAST 4 /* samples: with fewer, what rose twice at once says nothing of what comes */
#define SAMPLES_LEAST 8 /* that say what share of blocks was freed */

struct judged {
    const struct heap_growth *growth;
    const struct heap_row *row;
    const struct heap_grown *where;
    struct leak_verdict *verdict;
};

static bool grows(const double *y, unsigned int count, double chance_most, double *chance)
{
    if (y[count - 1] <= y[(count - 1) * 5 / 6])
        return false;
    *chance = trend_chance(y, count);
    return *chance <= chance_most;
}

static bool found(struct judged *j, enum leak_within within, double chance, const double *y,
                  unsigned int count, double step_ns)
{
    double slope = step_ns > 0 ? trend_slope(y, count) * 1e9 / step_ns : 0;

    if (!(slope > 0)) /* bursts: most pairs of points are equal */
        slope = step_ns > 0 ? (y[count - 1] - y[0]) / (count - 1) * 1e9 / step_ns : 0;
    if (!(slope > 0))
        return false;
    j->verdict->trend = LEAK_GROWING;
    j->verdict->within = within;
    j->verdict->chance = chance;
    j->verdict->slope = slope;
    return true;
}

static bool grows_in_run(struct judged *j, const double *y)
{
    const struct heap_grown *w = j->where;
    double step = (double)(w->to_ns - w->from_ns) / POINTS, whole;

    if (y[LAST] <= y[SIXTH])
        return false;
    if (grows(y + JUDGED, POINTS - JUDGED, CHANCE_MOST, &j->verdict->chance))
        return found(j, LEAK_IN_RUN, j->verdict->chance, y + JUDGED, POINTS - JUDGED, step);
    return grows(y, POINTS, CHANCE_ELSEWHERE, &whole) &&
           found(j, LEAK_IN_RUN, whole, y, POINTS, step);
}

/* The most that it held up to a time. */
static double most_until(const struct judged *j, uint64_t time_ns)
{
    double y[HEAP_CURVE_STEPS], most = 0;

    heap_growth_series(j->growth, j->row, j->where, j->where->from_ns, time_ns, y,
                       HEAP_CURVE_STEPS);
    for (unsigned int i = 0; i < HEAP_CURVE_STEPS; i++)
        most = y[i] > most ? y[i] : most;
    return most;
}

/* A tooth of a saw rises, too, but not above those before it. */
static bool grows_in_part(struct judged *j, unsigned int part)
{
    const struct heap_grown *w = j->where;
    uint64_t from = w->to_ns - ((w->to_ns - w->from_ns) >> part);
    double y[POINTS], start = heap_growth_at(j->growth, j->row, w, from), chance;

    heap_growth_series(j->growth, j->row, w, from, w->to_ns, y, POINTS);
    return grows(y, POINTS, CHANCE_ELSEWHERE, &chance) &&
           most_until(j, from) <= start + OVER_MOST * (y[LAST] - start) &&
           found(j, LEAK_IN_LAST_PART, chance, y, POINTS, (double)(w->to_ns - from) / POINTS);
}

static bool grows_in_phase(struct judged *j, const struct heap_phase *p)
{
    const struct heap_grown *w = j->where;
    double y[HEAP_PHASE_POINTS], chance, step;
    unsigned int count = 0, first = 0;

    for (unsigned int i = 0; i < p->count; i++) {
        if (p->times[i] < w->from_ns || p->times[i] > w->to_ns)
            continue;
        first = count ? first : i;
        y[count++] = heap_growth_at(j->growth, j->row, w, p->times[i]);
    }
    if (count < PHASE_LEAST || !grows(y, count, CHANCE_ELSEWHERE, &chance) ||
        (double)w->bytes < y[count - 1] * KEPT_LEAST)
        return false;
    step = (double)(p->times[first + count - 1] - p->times[first]) / (count - 1);
    j->verdict->name = p->name;
    return found(j, p->steps ? LEAK_IN_STEPS : LEAK_IN_REGION, chance, y, count, step);
}

static bool grows_elsewhere(struct judged *j)
{
    const struct heap_phases *phases = &j->growth->phases;

    for (unsigned int part = 1; part <= PARTS; part++)
        if (grows_in_part(j, part))
            return true;
    for (size_t i = 0; i < phases->count; i++)
        if (phases->list[i].process == j->where->process->number &&
            grows_in_phase(j, &phases->list[i]))
            return true;
    return false;
}

/* How many samples of equal weight would say as much; 0: all of it is sure. */
static double samples_of(const struct heap_amount *a)
{
    double blocks = (double)a->milliblocks / 1000, squares = a->of_blocks + blocks;

    return blocks > 0 && squares > WEIGHT_SURE * blocks ? blocks * blocks / squares : 0;
}

/* If it went on as before, its rises would lie anywhere from the first one on: may all of them lie
 * before the last by chance? One that rose once alone must have done so before the last sixth.
 */
static bool may_go_on(const struct judged *j, const double *y)
{
    const struct heap_grown *w = j->where;
    uint64_t began = w->process->from_ns;
    unsigned int rises = 1, last = 0;

    for (unsigned int i = 1; i < POINTS; i++) {
        if (y[i] <= y[i - 1])
            continue;
        rises++;
        last = i;
    }
    if (last <= 1) /* at once, though an end of a window may lie in between */
        return w->from_ns > began && (w->from_ns - began) / 5 > (w->to_ns - began) / 6;
    return pow((double)(last + 1) / POINTS, rises - 1) > UNSEEN_MOST;
}

/* How many samples of what it holds there would be at the distance that they had in the end: that
 * is larger than at first where a program allocates fast, and of what came late fewer are taken.
 */
static double samples_at_last(const struct judged *j, double samples)
{
    double mean = j->growth->heap->mean;
    double at_last = mean > 0 ? (double)j->row->sum.at.bytes / mean : samples;

    return at_last < samples ? at_last : samples;
}

/* It may grow by the root of time: so much more since its last sample, of which none was taken. */
static bool may_be_unseen(const struct judged *j)
{
    const struct heap_grown *w = j->where;
    double samples = samples_of(&j->row->sum.at), part = 1;

    if (samples == 0)
        return false;
    if (j->row->sum.seen.last_ns < w->to_ns)
        part = j->row->sum.seen.last_ns > w->from_ns
                 ? (double)(j->row->sum.seen.last_ns - w->from_ns) / (double)(w->to_ns - w->from_ns)
                 : 0;
    return samples < SEEN_LEAST ||
           exp(-samples_at_last(j, samples) * (1 / sqrt(part) - 1)) > UNSEEN_MOST;
}

/* It rose of late and never fell: what was freed were the smaller ones that a container has moved
 * out of. */
static bool moves_on(const double *y)
{
    for (unsigned int i = 1; i < POINTS; i++)
        if (y[i] < y[i - 1])
            return false;
    return y[LAST] > y[JUDGED];
}

void leak_trend(struct leak_verdict *v, const struct heap_growth *g, const struct heap_row *row,
                const struct heap_grown *where, double freed_percent)
{
    struct judged j = {g, row, where, v};
    double y[POINTS], samples = samples_of(&row->sum.sums.allocated);

    *v = (struct leak_verdict){.trend = LEAK_STEADY, .quarter = where->quarter, .chance = 1};
    heap_growth_series(g, row, where, where->from_ns, where->to_ns, y, POINTS);
    v->chance = trend_chance(y + JUDGED, POINTS - JUDGED);
    if (grows_in_run(&j, y) || grows_elsewhere(&j))
        return;
    if (freed_percent >= 50 && !moves_on(y))
        v->trend = samples > 0 && samples < SAMPLES_LEAST ? LEAK_UNCLEAR : LEAK_STEADY;
    else if (y[LAST] > y[SIXTH] || may_go_on(&j, y) || may_be_unseen(&j))
        v->trend = LEAK_UNCLEAR;
    else
        v->trend = LEAK_GREW_ONCE;
}
