/* series - see series.h. */
#include "page/series.h"

#include "base/count.h"
#include "base/memory.h"

#include <stdlib.h>

#define POINTS_MOST ((size_t)1 << 20)
#define PROCESS_POINTS 300u

static const enum trace_metric of_run[] = {
    METRIC_RSS,
    METRIC_PSS,
    METRIC_SWAP,
    METRIC_RESIDENT_HEAP,
    METRIC_RESIDENT_STACK,
    METRIC_RESIDENT_DATA,
    METRIC_RESIDENT_FILE,
    METRIC_RESIDENT_SHARED,
    METRIC_RESIDENT_ANON,
    METRIC_CPU_NS,
    METRIC_READ_BYTES,
    METRIC_WRITE_BYTES,
    METRIC_READ_CHARS,
    METRIC_WRITE_CHARS,
    METRIC_PROCESSES,
};
static const enum trace_metric of_machine[] = {
    METRIC_MACHINE_USED,
    METRIC_MACHINE_TOTAL,
    METRIC_MACHINE_CPU_BUSY,
    METRIC_MACHINE_CPU_ALL,
};
static const enum trace_metric of_device[] = {METRIC_DEVICE_USED, METRIC_DEVICE_OURS};
static const enum trace_metric of_process[] = {METRIC_RSS, METRIC_CPU_NS};

static struct series *series_of(struct series_list *l, enum trace_subject subject, uint64_t id,
                                enum trace_metric metric)
{
    uint64_t key = (id << 8 | metric) << 3 | subject, place;

    if (intmap_get(&l->places, key, &place))
        return &l->list[place];
    memory_fit(l->list, l->room, l->count + 1);
    intmap_put(&l->places, key, l->count);
    l->list[l->count] = (struct series){.subject = subject, .id = id, .metric = metric};
    return &l->list[l->count++];
}

/* The number of the part of the time. */
static uint64_t part_of(const struct series_list *l, const struct series *s, uint64_t time_ns)
{
    unsigned int most = s->subject == TRACE_OF_PROCESS ? PROCESS_POINTS : SERIES_POINTS;

    if (time_ns < l->from_ns || time_ns >= l->to_ns)
        return time_ns / (l->last_ns / most + 1);
    return most + (time_ns - l->from_ns) / ((l->to_ns - l->from_ns) / most + 1);
}

/* Of one part of the time the greatest. What only grows is greatest at its end. */
static void add(struct series_list *l, struct series *s, uint64_t time_ns, uint64_t value)
{
    struct series_point *last = s->count ? &s->points[s->count - 1] : NULL;

    if (last && part_of(l, s, last->time_ns) == part_of(l, s, time_ns)) {
        if (value >= last->value)
            *last = (struct series_point){time_ns, value};
        return;
    }
    if (l->points == POINTS_MOST)
        return;
    memory_fit(s->points, s->room, s->count + 1);
    s->points[s->count++] = (struct series_point){time_ns, value};
    l->points++;
}

void series_tick(const struct run *r, uint64_t time_ns, void *context)
{
    struct series_list *l = context;
    uint64_t value;

    for (int i = 0; i < COUNT(of_run); i++)
        if (run_tree(r, of_run[i], &value))
            add(l, series_of(l, TRACE_OF_RUN, 0, of_run[i]), time_ns, value);
    for (int i = 0; i < COUNT(of_machine); i++)
        if (metrics_get(&r->machine, of_machine[i], &value))
            add(l, series_of(l, TRACE_OF_MACHINE, 0, of_machine[i]), time_ns, value);
    for (size_t d = 0; d < r->device_count; d++)
        for (int i = 0; i < COUNT(of_device); i++)
            if (metrics_get(&r->devices[d]->now, of_device[i], &value))
                add(l, series_of(l, TRACE_OF_DEVICE, r->devices[d]->number, of_device[i]), time_ns,
                    value);
    for (size_t p = 0; p < r->process_count; p++)
        for (int i = 0; i < COUNT(of_process) && !r->processes[p]->ended; i++)
            if (metrics_get(&r->processes[p]->now, of_process[i], &value))
                add(l, series_of(l, TRACE_OF_PROCESS, p, of_process[i]), time_ns, value);
}

void series_free(struct series_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->list[i].points);
    free(l->list);
    intmap_free(&l->places);
}
