/* residence - see residence.h. */
#include "model/residence.h"

#include "base/memory.h"

#include <stdlib.h>

#define ENTRIES_MOST 65536 /* of one look: a recorder writes far fewer */
#define PROCESSES_MOST ((size_t)1 << 20)

static struct residence_process *process_of(struct residence_looks *l, uint64_t number)
{
    uint64_t place;

    if (intmap_get(&l->places, number, &place))
        return &l->processes[place];
    if (l->count == PROCESSES_MOST)
        return NULL;
    memory_fit_zeroed(l->processes, l->room, l->count + 1);
    l->processes[l->count].number = number;
    intmap_put(&l->places, number, l->count);
    return &l->processes[l->count++];
}

static void take_look(struct residence_looks *l, const struct trace_event *ev)
{
    const struct trace_resident *r = &ev->resident;
    struct residence_process *p = process_of(l, r->process);

    if (!p)
        return;
    if (!r->address || p->time_ns != ev->time_ns)
        p->count = 0; /* another look begins */
    p->time_ns = ev->time_ns;
    if (!r->address || p->count == ENTRIES_MOST || r->memory >= TRACE_MEMORY_KINDS)
        return;
    memory_fit(p->entries, p->room, p->count + 1);
    p->entries[p->count++] = (struct residence_entry){
        r->stack, r->bytes, r->resident < r->bytes ? r->resident : r->bytes,
        (enum trace_memory)r->memory};
}

void residence_take(struct residence_looks *l, const struct trace_event *ev)
{
    uint64_t place;

    if (ev->kind == TRACE_RESIDENT)
        take_look(l, ev);
    else if (ev->kind == TRACE_PROCESS_END &&
             intmap_get(&l->places, ev->process_end.process, &place))
        l->processes[place].ended = true;
}

void residence_since(struct residence_looks *l, uint64_t time_ns)
{
    for (size_t i = 0; i < l->count; i++)
        l->processes[i].ended = l->processes[i].ended || l->processes[i].time_ns < time_ns;
    for (size_t i = 0; i < l->count; i++)
        l->processes[i].count = l->processes[i].ended ? 0 : l->processes[i].count;
}

size_t residence_processes(const struct residence_looks *l)
{
    size_t count = 0;

    for (size_t i = 0; i < l->count; i++)
        count += !l->processes[i].ended;
    return count;
}

void residence_free(struct residence_looks *l)
{
    for (size_t i = 0; i < l->room; i++)
        free(l->processes[i].entries);
    free(l->processes);
    intmap_free(&l->places);
    *l = (struct residence_looks){0};
}
