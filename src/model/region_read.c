/* region_read - see region_read.h. CPU samples are kept per thread in the order of time with their
 * running sums, so a span's share is the difference of two of them.
 */
#include "model/region_read.h"

#include "base/memory.h"
#include "base/search.h"
#include "model/allowed.h"

#include <stdlib.h>
#include <string.h>

#define SPANS_MOST ((size_t)1 << 21)
#define SAMPLES_MOST ((size_t)1 << 24)
#define POINTS_MOST ((size_t)1 << 22)

/* Reading */

static void take_begin(struct region_list *l, const struct trace_event *ev)
{
    uint64_t parent = 0;

    if (l->count == SPANS_MOST || l->count >= l->most || !ev->region.region) {
        l->left_out++;
        return;
    }
    intmap_get(&l->places, ev->region.parent, &parent);
    memory_fit(l->spans, l->room, l->count + 1);
    l->spans[l->count++] = (struct region_span){
        .name = names_get(l->names, ev->region.name),
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
    if (l->sample_count == SAMPLES_MOST || l->sample_count >= l->most)
        return;
    memory_fit(l->samples, l->sample_room, l->sample_count + 1);
    l->samples[l->sample_count++] = (struct region_sample){
        .thread = ev->cpu.thread, .time_ns = ev->time_ns, .ns = ev->cpu.ns};
}

void region_tick(const struct run *r, uint64_t time_ns, void *context)
{
    struct region_list *l = context;
    uint64_t rss;

    if (l->point_count == POINTS_MOST || !run_tree(r, METRIC_RSS, &rss))
        return;
    memory_fit(l->points, l->point_room, l->point_count + 1);
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
    size_t low = 0;
    const struct region_sample key = {.thread = thread, .time_ns = time_ns};

    SEARCH(low, l->sample_count, i, by_thread_and_time(&l->samples[i], &key) <= 0);
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
    size_t low = 0;

    SEARCH(low, l->point_count, i, l->points[i].time_ns <= time_ns);
    return low ? &l->points[low - 1] : NULL;
}

bool region_rss(const struct region_list *l, uint64_t from_ns, uint64_t to_ns,
                struct region_rss *out)
{
    const struct region_point *before = point_at(l, from_ns), *after = point_at(l, to_ns);
    size_t first = before ? (size_t)(before - l->points) + 1 : 0;

    *out = (struct region_rss){0};
    if (!after || after == before)
        return false;
    out->before = before ? before->rss : after->rss;
    out->after = after->rss;
    out->most = highest_of(&l->highest, first, (size_t)(after - l->points) + 1);
    return true;
}

static void add_rss(const struct region_list *l, struct region_span *s)
{
    struct region_rss rss;

    s->rss_known = region_rss(l, s->from_ns, s->to_ns, &rss);
    s->rss_before = rss.before;
    s->rss_after = rss.after;
    s->rss_most = rss.most;
}

static uint64_t process_of(const struct heap *h, uint64_t thread)
{
    const struct heap_process *p = heap_process_of_thread(h, thread);

    return p ? p->number : 0;
}

void region_want_heap(struct region_list *l, struct heap *h)
{
    heap_moments_free(&l->moments);
    for (size_t i = 0; i < l->count; i++) {
        struct region_span *s = &l->spans[i];

        s->process = process_of(h, s->thread);
        if (!s->to_ns || !s->process)
            continue;
        heap_moments_ask(&l->moments, s->process, s->from_ns);
        heap_moments_ask(&l->moments, s->process, s->to_ns);
    }
    heap_moments_want(&l->moments, h);
}

void region_add_heap(struct region_list *l)
{
    heap_moments_end(&l->moments);
    for (size_t i = 0; i < l->count; i++) {
        struct region_span *s = &l->spans[i];

        if (!s->to_ns || !s->process)
            continue;
        s->heap_known = true;
        s->heap_before = heap_moments_live(&l->moments, s->process, s->from_ns);
        s->heap_after = heap_moments_live(&l->moments, s->process, s->to_ns);
        s->heap_most = heap_moments_most(&l->moments, s->process, s->from_ns, s->to_ns);
    }
}

void region_start(struct region_list *l, const struct names *names, const struct selection *o)
{
    *l = (struct region_list){
        .names = names,
        .from_ns = o->from_ns,
        .to_ns = o->to_ns ? o->to_ns : UINT64_MAX,
        .most = ALLOWED_THINGS(names->file_bytes),
    };
}

void region_take(struct region_list *l, const struct trace_event *ev)
{
    if (ev->time_ns < l->from_ns || ev->time_ns > l->to_ns)
        return;
    if (ev->kind == TRACE_REGION)
        take_begin(l, ev);
    else if (ev->kind == TRACE_REGION_END)
        take_end(l, ev);
    else if (ev->kind == TRACE_CPU)
        take_cpu(l, ev);
}

void region_end(struct region_list *l)
{
    sum_up(l);
    highest_start(&l->highest, l->point_count);
    for (size_t i = 0; i < l->point_count; i++)
        highest_set(&l->highest, i, l->points[i].rss);
    highest_settle(&l->highest);
    for (size_t i = 0; i < l->count; i++) {
        if (!l->spans[i].to_ns)
            continue;
        add_cpu(l, &l->spans[i]);
        add_rss(l, &l->spans[i]);
    }
}

void region_list_free(struct region_list *l)
{
    free(l->spans);
    free(l->samples);
    free(l->points);
    highest_free(&l->highest);
    intmap_free(&l->places);
    heap_moments_free(&l->moments);
    *l = (struct region_list){0};
}
