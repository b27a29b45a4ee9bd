/* line_devices - see line_devices.h. */
#include "model/line_devices.h"

#include "base/memory.h"
#include "model/metrics.h"

#include <stdlib.h>

enum { BY_LAUNCHES, BY_CPU, BY_WAITS };

#define BUSY_WHOLE 1000.0 /* of the metric */

/* ---- shares ---- */

static void add_weight(struct line_devices *d, uint32_t line, int way, double weight)
{
    struct line_device *l = &d->lines[line];

    if (!l->weight[0] && !l->weight[1] && !l->weight[2]) {
        memory_fit(d->touched, d->touched_room, d->touched_count + 1);
        d->touched[d->touched_count++] = line;
    }
    l->weight[way] += weight;
}

static double sum_of(const struct line_devices *d, int way)
{
    double sum = 0;

    for (size_t i = 0; i < d->touched_count; i++)
        sum += d->lines[d->touched[i]].weight[way];
    return sum;
}

static void share_out(struct line_devices *d, double busy_ns)
{
    int way = BY_LAUNCHES;
    double sum;

    while (way < BY_WAITS && !(sum_of(d, way) > 0))
        way++;
    sum = sum_of(d, way);
    if (!(sum > 0)) {
        d->left_ns += busy_ns;
        return;
    }
    d->shared_ns[way] += busy_ns;
    for (size_t i = 0; i < d->touched_count; i++) {
        struct line_device *l = &d->lines[d->touched[i]];

        l->busy_ns += busy_ns * (l->weight[way] / sum);
    }
}

/* All readings of one moment are there: what was done before them pays for them. */
static void settle(struct line_devices *d)
{
    double busy_ns = 0;

    for (size_t i = 0; i < LINE_DEVICES_MOST; i++) {
        struct line_busy *b = &d->devices[i];

        if (b->known || b->ours_known)
            busy_ns += (double)b->span_ns * (b->ours_known ? b->ours : b->all);
        d->ours |= b->ours_known;
        *b = (struct line_busy){.last_ns = b->last_ns};
    }
    d->sum.busy_ns += busy_ns;
    share_out(d, busy_ns);
    for (size_t i = 0; i < d->touched_count; i++)
        for (int way = 0; way < LINE_DEVICES_WAYS; way++)
            d->lines[d->touched[i]].weight[way] = 0;
    d->touched_count = 0;
    d->pending = false;
}

/* ---- readings ---- */

static void take_sample(struct line_devices *d, const struct trace_event *ev)
{
    bool use = ev->sample.subject == TRACE_OF_DEVICE_USE;
    uint64_t number = use ? ev->sample.id >> 32 : ev->sample.id;
    struct trace_event rest = *ev; /* others read its tail, too */
    struct trace_pair pair;
    struct line_busy *b;

    if ((!use && ev->sample.subject != TRACE_OF_DEVICE) || number >= LINE_DEVICES_MOST)
        return;
    b = &d->devices[number];
    while (trace_next_pair(&rest, &pair)) {
        double share = (double)pair.value / BUSY_WHOLE;

        if (pair.metric != METRIC_DEVICE_BUSY)
            continue;
        d->time_known = d->pending = true;
        b->known |= !use;
        b->ours_known |= use;
        b->all = use ? b->all : share;
        b->ours += use ? share : 0;
    }
    if (use)
        return;
    b->span_ns = b->last_ns && ev->time_ns > b->last_ns ? ev->time_ns - b->last_ns : 0;
    b->last_ns = ev->time_ns;
}

/* ---- what lines did ---- */

static void take_work(struct line_devices *d, const struct trace_event *ev)
{
    const struct threads_thread *t;

    switch (ev->kind) {
    case TRACE_LAUNCHES:
        d->lines[blame_stack(d->blame, ev->launches.stack)].launches += ev->launches.count;
        d->sum.launches += ev->launches.count;
        d->launches_known = true;
        add_weight(d, blame_stack(d->blame, ev->launches.stack), BY_LAUNCHES,
                   (double)ev->launches.count);
        break;
    case TRACE_CPU:
        add_weight(d, blame_stack(d->blame, ev->cpu.stack), BY_CPU, (double)ev->cpu.ns);
        break;
    default:
        t = threads_find(&d->recorded->threads, ev->wait.thread);
        if (t && !t->creator) /* a main thread: others wait for work */
            add_weight(d, blame_stack(d->blame, ev->wait.stack), BY_WAITS, (double)ev->wait.ns);
    }
}

static bool is_on_device(const struct line_devices *d, uint64_t space)
{
    for (size_t i = 0; i < d->spaces.count; i++)
        if (d->spaces.list[i].number == space)
            return d->spaces.list[i].kind == TRACE_SPACE_DEVICE;
    return false;
}

static void take_alloc(struct line_devices *d, const struct trace_space_alloc *a)
{
    uint32_t line = blame_stack(d->blame, a->stack);
    struct line_device *l = &d->lines[line];

    if (!is_on_device(d, a->space))
        return;
    d->memory_known = true;
    memory_fit(d->born, d->born_room, d->born_count + 1);
    d->born[d->born_count] = (struct line_block){line, a->bytes};
    intmap_put(&d->blocks, a->block, ++d->born_count);
    d->sum.allocated += a->bytes;
    l->allocated += a->bytes;
    l->live += a->bytes;
    l->most = l->live > l->most ? l->live : l->most;
}

static void take_free(struct line_devices *d, uint64_t block)
{
    uint64_t place;

    if (!intmap_get(&d->blocks, block, &place) || !place)
        return;
    d->lines[d->born[place - 1].line].live -= d->born[place - 1].bytes;
    intmap_put(&d->blocks, block, 0);
}

static bool is_asked(const struct line_devices *d, const struct trace_event *ev)
{
    const struct selection *o = &d->recorded->selection;

    return ev->time_ns >= o->from_ns && (!o->to_ns || ev->time_ns <= o->to_ns);
}

static void take(void *context, const struct trace_event *ev)
{
    struct line_devices *d = context;

    space_list_take(&d->spaces, &d->recorded->names, ev);
    switch (ev->kind) {
    case TRACE_SAMPLE:
        if (is_asked(d, ev))
            take_sample(d, ev);
        break;
    case TRACE_LAUNCHES:
    case TRACE_CPU:
    case TRACE_WAIT:
        if (d->pending)
            settle(d);
        if (is_asked(d, ev))
            take_work(d, ev);
        break;
    case TRACE_SPACE_ALLOC:
        if (is_asked(d, ev))
            take_alloc(d, &ev->space_alloc);
        break;
    case TRACE_SPACE_FREE:
        take_free(d, ev->space_free.block);
        break;
    default:
        break;
    }
}

static void look(void *context, const struct trace_event *ev)
{
    struct line_devices *d = context;

    d->any |= ev->kind == TRACE_DEVICE || ev->kind == TRACE_SPACE || ev->kind == TRACE_LAUNCHES;
}

void line_devices_look(struct line_devices *d, struct recorded *r)
{
    recorded_take_first(r, look, d);
}

void line_devices_want(struct line_devices *d, struct recorded *r, const struct blame *b)
{
    uint64_t to_ns = r->selection.to_ns;
    bool any = d->any && r->selection.space == SPACE_HOST;

    *d = (struct line_devices){.recorded = r, .blame = b};
    d->lines = memory_zeroed(((size_t)b->line_count + 1) * sizeof(*d->lines));
    if (any)
        recorded_take_again(r, take, d, to_ns ? to_ns : UINT64_MAX);
}

void line_devices_read(struct line_devices *d)
{
    if (d->pending)
        settle(d);
}

bool line_device_is_empty(const struct line_device *l)
{
    return !(l->busy_ns > 0) && !l->launches && !l->allocated;
}

void line_device_add(struct line_device *to, const struct line_device *from)
{
    to->busy_ns += from->busy_ns;
    to->launches += from->launches;
    to->allocated += from->allocated;
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

double line_devices_weight(const struct line_devices *d, const struct line_device *l)
{
    double time = share(l->busy_ns, d->sum.busy_ns);
    double launches = share((double)l->launches, (double)d->sum.launches);
    double memory = share((double)l->allocated, (double)d->sum.allocated);
    double most = time > launches ? time : launches;

    return memory > most ? memory : most;
}

void line_devices_free(struct line_devices *d)
{
    intmap_free(&d->blocks);
    free(d->born);
    free(d->touched);
    free(d->lines);
}
