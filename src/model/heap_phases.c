/* heap_phases - see heap_phases.h. */
#include "model/heap_phases.h"

#include "base/memory.h"
#include "model/heap_pass.h"

#include <stdlib.h>

#define REGIONS_MOST ((size_t)1 << 20)

static struct heap_phase *phase_of(struct heap_phases *p, const struct heap *h, uint64_t process,
                                   uint64_t name, bool steps)
{
    uint64_t key = (process << 32 | (name & UINT32_MAX)) << 1 | steps, place;

    if (intmap_get(&p->places, key, &place))
        return &p->list[place];
    if (p->count == HEAP_PHASES_MOST)
        return NULL;
    if (!p->list)
        p->list = memory_zeroed(HEAP_PHASES_MOST * sizeof(*p->list));
    intmap_put(&p->places, key, p->count);
    p->list[p->count] = (struct heap_phase){
        .name = names_get(h->frames->names, name), .steps = steps, .process = process, .stride = 1};
    return &p->list[p->count++];
}

/* Where there are too many, each second of them is kept. */
static void add_moment(struct heap_phase *p, uint64_t time_ns)
{
    if (p->seen++ % p->stride)
        return;
    if (p->count == HEAP_PHASE_POINTS) {
        for (unsigned int i = 0; i < HEAP_PHASE_POINTS / 2; i++)
            p->times[i] = p->times[2 * i];
        p->count /= 2;
        p->stride *= 2;
    }
    p->times[p->count++] = time_ns;
}

static void take(struct heap_phases *p, const struct heap *h, const struct trace_event *ev,
                 uint64_t thread, uint64_t name, bool steps)
{
    const struct heap_process *process = heap_process_of_thread(h, thread);
    struct heap_phase *phase = process ? phase_of(p, h, process->number, name, steps) : NULL;

    if (phase)
        add_moment(phase, ev->time_ns);
}

void heap_phases_take(struct heap_phases *p, const struct heap *h, const struct trace_event *ev)
{
    uint64_t name;

    if (ev->kind == TRACE_MARK && ev->mark.mark_kind == TRACE_MARK_STEP)
        take(p, h, ev, ev->mark.thread, ev->mark.name, true);
    else if (ev->kind == TRACE_REGION && p->names.used < REGIONS_MOST)
        intmap_put(&p->names, ev->region.region, ev->region.name);
    else if (ev->kind == TRACE_REGION_END && intmap_get(&p->names, ev->region_end.region, &name))
        take(p, h, ev, ev->region_end.thread, name, false);
}

void heap_phases_free(struct heap_phases *p)
{
    intmap_free(&p->places);
    intmap_free(&p->names);
    free(p->list);
    *p = (struct heap_phases){0};
}
