/* region_read - see region_read.h. CPU samples are kept per thread in the order of time with their
 * running sums, so a span's share is the difference of two of them.
 */
#include "analyze/region_read.h"

#include "analyze/heap_moments.h"
#include "analyze/heap_pass.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define SPANS_MOST ((size_t)1 << 21)
#define SAMPLES_MOST ((size_t)1 << 24)
#define POINTS_MOST ((size_t)1 << 22)

static void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room ? *room * 2 : 256;
    return memory_resize(array, *room * size);
}

/* Reading */

static void take_begin(struct region_list *l, const struct heap *h, const struct trace_event *ev)
{
    uint64_t parent = 0;

    if (l->count == SPANS_MOST || !ev->region.region) {
        l->left_out++;
        return;
    }
    intmap_get(&l->places, ev->region.parent, &parent);
    l->spans = grow(l->spans, l->count, &l->room, sizeof(*l->spans));
    l->spans[l->count++] = (struct region_span){
        .name = names_get(&h->frames.names, ev->region.name),
        .thread = ev->region.thread,
        .parent = parent,
        .from_ns = ev->time_ns,
    };
    intmap_put(&l->places, ev->region.region, l->count);
}

static void take_end(struct region_list *l, const struct trace_event *ev)
{
    struct region_span *s;
    uint64_t place;

    if (!intmap_get(&l->places, ev->region_end.region, &place))
        return;
    s = &l->spans[place - 1];
    if (s->to_ns || ev->time_ns < s->from_ns)
        return;
    s->to_ns = ev->time_ns;
    if (s->parent)
        l->spans[s->parent - 1].inner_ns += s->to_ns - s->from_ns;
}

static void take_cpu(struct region_list *l, const struct trace_event *ev)
{
    l->cpu_known = true;
    if (l->sample_count == SAMPLES_MOST)
        return;
    l->samples = grow(l->samples, l->sample_count, &l->sample_room, sizeof(*l->samples));
    l->samples[l->sample_count++] = (struct region_sample){
        .thread = ev->cpu.thread, .time_ns = ev->time_ns, .ns = ev->cpu.ns};
}

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    struct region_list *l = context;
    uint64_t rss;

    if (l->point_count == POINTS_MOST || !run_tree(r, METRIC_RSS, &rss))
        return;
    l->points = grow(l->points, l->point_count, &l->point_room, sizeof(*l->points));
    l->points[l->point_count++] = (struct region_point){time_ns, rss};
}

static int by_thread_and_time(const void *a, const void *b)
{
    const struct region_sample *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void sum_up(struct region_list *l)
{
    uint64_t sum = 0;
    double squares = 0;

    memory_sort(l->samples, l->sample_count, sizeof(*l->samples), by_thread_and_time);
    for (size_t i = 0; i < l->sample_count; i++) {
        struct region_sample *s = &l->samples[i];

        s->sum_ns = sum += s->ns;
        s->squares = squares += (double)s->ns * (double)s->ns;
    }
}

/* What is in a span */

/* How many samples are not after this moment of this thread. */
static size_t samples_until(const struct region_list *l, uint64_t thread, uint64_t time_ns)
{
    size_t low = 0, high = l->sample_count;
    const struct region_sample key = {.thread = thread, .time_ns = time_ns};

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_thread_and_time(&l->samples[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A sample stands for the time before it: one soon after the end belongs to what came later. */
static void add_cpu(const struct region_list *l, struct region_span *s)
{
    size_t first = samples_until(l, s->thread, s->from_ns);
    size_t last = samples_until(l, s->thread, s->to_ns);
    const struct region_sample *before = first ? &l->samples[first - 1] : NULL;

    s->samples = last - first;
    if (!s->samples)
        return;
    s->cpu_ns = l->samples[last - 1].sum_ns - (before ? before->sum_ns : 0);
    s->cpu_squares = l->samples[last - 1].squares - (before ? before->squares : 0);
}

/* The last point that is not after the time; NULL: none. */
static const struct region_point *point_at(const struct region_list *l, uint64_t time_ns)
{
    size_t low = 0, high = l->point_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (l->points[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &l->points[low - 1] : NULL;
}

/* Known where a sample was taken inside, else nothing was seen of it. */
static void add_rss(const struct region_list *l, struct region_span *s)
{
    const struct region_point *before = point_at(l, s->from_ns), *after = point_at(l, s->to_ns);
    const struct region_point *p = before ? before + 1 : l->points;

    if (!after || after == before)
        return;
    s->rss_known = true;
    s->rss_before = before ? before->rss : after->rss;
    s->rss_after = after->rss;
    for (; p <= after; p++)
        s->rss_most = p->rss > s->rss_most ? p->rss : s->rss_most;
}

static uint64_t process_of(const struct heap *h, uint64_t thread)
{
    const struct heap_process *p = heap_process_of_thread(h, thread);

    return p ? p->number : 0;
}

/* The heap of each span's own process. Reads the trace. */
static void add_heap(struct region_list *l, struct heap *h, struct trace *t)
{
    struct heap_moments m = {0};
    struct trace_event ev;

    for (size_t i = 0; i < l->count; i++) {
        struct region_span *s = &l->spans[i];

        s->process = process_of(h, s->thread);
        if (!s->to_ns || !s->process)
            continue;
        heap_moments_ask(&m, s->process, s->from_ns);
        heap_moments_ask(&m, s->process, s->to_ns);
    }
    heap_moments_begin(&m, h);
    trace_rewind(t, 0, UINT64_MAX);
    while (m.count && trace_next(t, &ev))
        heap_moments_take(&m, &ev);
    heap_moments_end(&m);
    for (size_t i = 0; i < l->count; i++) {
        struct region_span *s = &l->spans[i];

        if (!s->to_ns || !s->process)
            continue;
        s->heap_known = true;
        s->heap_before = heap_moments_live(&m, s->process, s->from_ns);
        s->heap_after = heap_moments_live(&m, s->process, s->to_ns);
        s->heap_most = heap_moments_most(&m, s->process, s->from_ns, s->to_ns);
    }
    heap_moments_free(&m);
}

void region_read(struct region_list *l, struct heap *h, struct arena *arena, struct trace *t,
                 const struct question_options *o)
{
    struct trace_event ev;

    memset(l, 0, sizeof(*l));
    heap_read(h, arena, t, o, on_tick, l);
    trace_rewind(t, o->from_ns, o->to_ns ? o->to_ns : UINT64_MAX);
    while (trace_next(t, &ev)) {
        if (ev.kind == TRACE_REGION)
            take_begin(l, h, &ev);
        else if (ev.kind == TRACE_REGION_END)
            take_end(l, &ev);
        else if (ev.kind == TRACE_CPU)
            take_cpu(l, &ev);
    }
    sum_up(l);
    for (size_t i = 0; i < l->count; i++) {
        if (!l->spans[i].to_ns)
            continue;
        add_cpu(l, &l->spans[i]);
        add_rss(l, &l->spans[i]);
    }
    if (h->any)
        add_heap(l, h, t);
}

void region_list_free(struct region_list *l)
{
    free(l->spans);
    free(l->samples);
    free(l->points);
    intmap_free(&l->places);
}
