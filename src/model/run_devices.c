/* run_devices - see run_inner.h: accelerators, what they held, and what each process held of them.
 * Numbers come from a file and may be nonsense: both lists have limits.
 */
#include "model/run_inner.h"

#include <string.h>

#define DEVICES_MOST 256u
#define USES_MOST 65536u

static struct run_device *make(struct run *r, uint64_t number)
{
    struct run_device *d = run_find(&r->state->devices, number);

    if (d || r->device_count == DEVICES_MOST)
        return d;
    if (!r->devices)
        r->devices = arena_alloc(r->names->arena, DEVICES_MOST * sizeof(struct run_device *));
    d = arena_alloc(r->names->arena, sizeof(*d));
    d->number = number;
    r->devices[r->device_count++] = d;
    run_file(&r->state->devices, number, d);
    return d;
}

void run_on_device(struct run *r, const struct trace_event *ev)
{
    struct run_device *d = make(r, ev->device.device);

    if (!d || d->name)
        return;
    d->name = names_get(r->names, ev->device.name);
    d->vendor = names_get(r->names, ev->device.vendor);
    d->id = names_get(r->names, ev->device.uuid);
}

void run_on_device_fact(struct run *r, const struct trace_event *ev)
{
    const char *key = names_get(r->names, ev->fact.key);
    struct run_device *d = key ? make(r, ev->fact.id) : NULL;
    const char **to = !d                                  ? NULL
                    : strcmp(key, FACT_DEVICE_LABEL) == 0 ? &d->label
                    : strcmp(key, FACT_DEVICE_WAY) == 0   ? &d->way
                    : strcmp(key, FACT_DEVICE_NOTE) == 0  ? &d->note
                    : strcmp(key, FACT_DEVICE_SPACE) == 0 ? &d->space
                    : strcmp(key, FACT_DEVICE_BUS) == 0   ? &d->bus
                                                          : NULL;

    if (to)
        *to = names_keep(r->names, ev->tail, ev->tail_bytes);
}

static void take(struct run_range *r, uint64_t value)
{
    if (!r->count || value < r->least)
        r->least = value;
    if (value > r->most)
        r->most = value;
    r->sum += (double)value;
    r->count++;
}

static void take_metric(struct run_range *r, const struct metrics *m, enum trace_metric metric)
{
    uint64_t value;

    if (metrics_get(m, metric, &value))
        take(r, value);
}

void run_on_device_sample(struct run *r, uint64_t number, const struct metrics *m)
{
    struct run_device *d = run_find(&r->state->devices, number);
    uint64_t used, ours;

    if (!d)
        return;
    for (unsigned int i = 0; i < METRICS_ROOM; i++)
        if (metrics_has(m, i))
            metrics_raise(&d->most, i, m->value[i]);
    d->now = *m;
    d->readings++;
    take_metric(&d->used, m, METRIC_DEVICE_USED);
    take_metric(&d->reserved, m, METRIC_DEVICE_RESERVED);
    take_metric(&d->busy, m, METRIC_DEVICE_BUSY);
    take_metric(&d->ours, m, METRIC_DEVICE_OURS);
    if (metrics_get(m, METRIC_DEVICE_USED, &used) && metrics_get(m, METRIC_DEVICE_OURS, &ours))
        take(&d->rest, used > ours ? used - ours : 0);
}

static struct run_device_use *use_of(struct run *r, uint64_t id)
{
    struct run_device_use *u = run_find(&r->state->uses, id);
    const struct run_device *d = run_find(&r->state->devices, id >> 32);
    const struct run_process *p = run_find(&r->state->processes, id & UINT32_MAX);

    if (u || !d || !p || r->use_count == USES_MOST)
        return u;
    u = arena_alloc(r->names->arena, sizeof(*u));
    *u = (struct run_device_use){.device = d, .process = p, .shared = UINT64_MAX};
    arena_fit(r->names->arena, r->uses, r->use_room, r->use_count + 1);
    r->uses[r->use_count++] = u;
    run_file(&r->state->uses, id, u);
    return u;
}

void run_on_use_sample(struct run *r, uint64_t id, const struct metrics *m)
{
    struct run_device_use *u = use_of(r, id);
    uint64_t shared;

    if (!u)
        return;
    take_metric(&u->used, m, METRIC_DEVICE_USED);
    take_metric(&u->busy, m, METRIC_DEVICE_BUSY);
    if (metrics_get(m, METRIC_DEVICE_SHARED, &shared) &&
        (u->shared == UINT64_MAX || shared > u->shared))
        u->shared = shared;
}
