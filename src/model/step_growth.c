/* step_growth - see step_growth.h. A stack that holds nothing at the end of a step costs next to
 * nothing: its points are kept from the first on that is not 0.
 */
#include "model/step_growth.h"

#include "base/memory.h"
#include "base/text.h"
#include "model/heap_pass.h"
#include "model/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHANCE_MOST 0.05
#define TRACKS_MOST ((size_t)1 << 22)
#define LOOPS_MOST 256 /* processes that are followed: what a row costs grows with them */

struct step_track {
    uint32_t process, next; /* 1 + places: in heap.processes, and of the stack's next track */
    unsigned int passed;    /* points that are behind it */
    struct heap_amount live;
    double variance;  /* of what it holds now less what it held at the first point */
    uint64_t *points; /* NULL: all 0 so far */
};

/* ---- judging a series ---- */

static int compare_slopes(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median_slope(const struct step_points *p, const double *y)
{
    double slopes[STEP_GROWTH_POINTS * (STEP_GROWTH_POINTS - 1) / 2];
    size_t n = 0;

    for (unsigned int i = 0; i < p->count; i++)
        for (unsigned int k = i + 1; k < p->count; k++)
            slopes[n++] = (y[k] - y[i]) / (double)(p->steps[k] - p->steps[i]);
    if (!n)
        return 0;
    memory_sort(slopes, n, sizeof(*slopes), compare_slopes);
    return n % 2 ? slopes[n / 2] : (slopes[n / 2 - 1] + slopes[n / 2]) / 2;
}

static enum step_trend find_trend(const struct step_points *p, const double *y, double rises,
                                  double falls)
{
    unsigned int last = p->count - 1, middle = last / 2;
    double early = (y[middle] - y[0]) / (double)(p->steps[middle] - p->steps[0]);
    double late = (y[last] - y[middle]) / (double)(p->steps[last] - p->steps[middle]);

    if (falls * 2 >= rises)
        return STEP_STEADY;
    if (p->loop->stacked_count < STEP_GROWTH_LEAST)
        return STEP_UNCLEAR;
    if (late > 0 && late * 2 >= early && falls * 10 <= rises &&
        trend_chance(y, p->count) <= CHANCE_MOST)
        return STEP_GROWING;
    return late <= 0 ? STEP_GREW_ONCE : STEP_UNCLEAR;
}

void step_growth_judge(const struct step_points *p, const double *y, struct step_verdict *out)
{
    double rises = 0, falls = 0;

    *out = (struct step_verdict){.trend = STEP_STEADY};
    if (p->count < 2)
        return;
    for (unsigned int i = 1; i < p->count; i++) {
        double by = y[i] - y[i - 1];

        rises += by > 0 ? by : 0;
        falls -= by < 0 ? by : 0;
        out->rises += by > 0;
    }
    out->first = text_rounded(y[0]);
    out->last = text_rounded(y[p->count - 1]);
    out->per_step = median_slope(p, y);
    out->trend = p->count < 3 ? STEP_UNCLEAR : find_trend(p, y, rises, falls);
}

/* ---- following the heap ---- */

static void pass_points(struct step_track *t, const struct step_points *p, uint64_t time_ns)
{
    for (; t->passed < p->count && p->times[t->passed] <= time_ns; t->passed++) {
        if (t->live.bytes && !t->points)
            t->points = memory_zeroed(p->count * sizeof(*t->points));
        if (t->points)
            t->points[t->passed] = t->live.bytes;
        if (!t->passed)
            t->variance = 0;
    }
}

/* The first process of a stack, which mostly is the only one, is found by the stack. */
static struct step_track *track_of(struct step_growth *g, const struct heap_change *c)
{
    uint64_t key = (uint64_t)c->place << 32 | c->stack, at;
    uint32_t place = heap_stack_place(g->heap, c->stack), first = place ? g->firsts[place - 1] : 0;

    if (first && g->tracks[first - 1].process == c->place)
        return &g->tracks[first - 1];
    if (first && intmap_get(&g->places, key, &at))
        return &g->tracks[at - 1];
    if (!place || g->count == TRACKS_MOST)
        return NULL;
    memory_fit(g->tracks, g->room, g->count + 1);
    g->tracks[g->count++] = (struct step_track){.process = c->place};
    if (!first) {
        g->firsts[place - 1] = (uint32_t)g->count;
    } else {
        g->tracks[g->count - 1].next = g->tracks[first - 1].next;
        g->tracks[first - 1].next = (uint32_t)g->count;
        intmap_put(&g->places, key, g->count);
    }
    return &g->tracks[g->count - 1];
}

static void change(void *context, const struct heap_change *c)
{
    struct step_growth *g = context;
    const struct step_points *p = &g->points[c->place - 1];
    struct heap_amount amount = c->info ? (struct heap_amount){c->bytes, 1000, 0, 0} : c->amount;
    struct step_track *t = p->loop ? track_of(g, c) : NULL;

    if (!t)
        return;
    pass_points(t, p, c->time_ns);
    if (t->passed == p->count)
        return;
    if (c->freed)
        heap_subtract(&t->live, &amount);
    else
        heap_add(&t->live, &amount);
    if (c->freed && c->born_ns >= p->times[0])
        t->variance -= amount.variance;
    else
        t->variance += amount.variance;
}

void step_growth_points(struct step_points *p, const struct moments_loop *loop)
{
    size_t all = loop->stacked_count;
    size_t most = all < STEP_GROWTH_POINTS ? all : STEP_GROWTH_POINTS;

    *p = (struct step_points){.loop = loop, .count = (unsigned int)most};
    for (size_t i = 0; i < most; i++) {
        p->steps[i] = loop->stacked_first + (most > 1 ? i * (all - 1) / (most - 1) : 0);
        p->times[i] = loop->steps[p->steps[i]]->time_ns;
    }
}

void step_growth_want(struct step_growth *g, struct heap *h, const struct moments *m)
{
    size_t followed = 0;

    *g = (struct step_growth){.heap = h};
    g->points = memory_zeroed((h->process_count + 1) * sizeof(*g->points));
    g->firsts = memory_zeroed((h->stack_count + 1) * sizeof(*g->firsts));
    for (size_t i = 0; i < m->loop_count; i++) {
        const struct heap_process *p = heap_process_of(h, m->loops[i].process);
        struct step_points *points = p ? &g->points[heap_place_of(h, p) - 1] : NULL;

        if (!points || m->loops[i].stacked_count < 2 || (!points->loop && followed == LOOPS_MOST))
            continue;
        followed += !points->loop;
        if (!points->loop || m->loops[i].stacked_count > points->loop->stacked_count)
            step_growth_points(points, &m->loops[i]);
    }
    heap_replay_add(h->replay, change, g, UINT64_MAX);
}

void step_growth_end(struct step_growth *g)
{
    struct heap *h = g->heap;

    for (size_t i = 0; i < h->stack_count; i++) {
        struct heap_amount at = {0};

        h->stacks[i].held = 0;
        for (uint32_t k = g->firsts[i]; k; k = g->tracks[k - 1].next) {
            struct step_track *t = &g->tracks[k - 1];

            pass_points(t, &g->points[t->process - 1], UINT64_MAX);
            if (t->points)
                heap_add(&at, &t->live);
            h->stacks[i].held += t->points != NULL;
        }
        heap_stack_at_set(h, &h->stacks[i], &at);
    }
    heap_at_forget(h);
}

/* ---- rows ---- */

/* What the stacks of a row hold in one process; false: the same at every point. */
static bool sum_up(const struct step_growth *g, const struct heap_row *row, uint32_t process,
                   double *y, double *variance)
{
    unsigned int count = g->points[process - 1].count;
    bool changes = false;

    memset(y, 0, count * sizeof(*y));
    *variance = 0;
    for (uint32_t s = row->first; s; s = g->heap->stacks[s - 1].next)
        for (uint32_t k = g->firsts[s - 1]; k; k = g->tracks[k - 1].next) {
            const struct step_track *t = &g->tracks[k - 1];

            if (t->process != process || !t->points)
                continue;
            for (unsigned int i = 0; i < count; i++)
                y[i] += (double)t->points[i];
            *variance += t->variance;
        }
    for (unsigned int i = 1; i < count; i++)
        changes = changes || y[i] != y[i - 1];
    return changes;
}

static void consider(const struct step_growth *g, const struct heap_row *row, uint32_t process,
                     struct step_verdict *best)
{
    double y[STEP_GROWTH_POINTS], variance;
    struct step_verdict v;

    if (!sum_up(g, row, process, y, &variance))
        return;
    step_growth_judge(&g->points[process - 1], y, &v);
    v.variance = variance > 0 ? variance : 0;
    v.place = process;
    if (!best->place || (double)v.last - (double)v.first > (double)best->last - (double)best->first)
        *best = v;
}

bool step_growth_of(struct step_growth *g, const struct heap_row *row, struct step_verdict *out)
{
    *out = (struct step_verdict){0};
    g->row++;
    for (uint32_t s = row->first; s; s = g->heap->stacks[s - 1].next)
        for (uint32_t k = g->firsts[s - 1]; k; k = g->tracks[k - 1].next) {
            uint32_t process = g->tracks[k - 1].process;

            if (g->points[process - 1].row != g->row && g->tracks[k - 1].points)
                consider(g, row, process, out);
            g->points[process - 1].row = g->row;
        }
    return out->place != 0;
}

void step_growth_free(struct step_growth *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->tracks[i].points);
    free(g->tracks);
    free(g->points);
    free(g->firsts);
    intmap_free(&g->places);
    *g = (struct step_growth){0};
}
