/* heap_step - a process moves on in time: steps of the grid, the stretch that is asked about, and
 * its peaks.
 */
#include "analyze/heap_pass.h"

/* The stretch that is asked about begins: what lives is its first peak. */
void heap_begin_stretch(struct heap_process *p, uint64_t time_ns)
{
    struct heap_state *s = p->state;

    s->began = true;
    p->peak = s->live;
    p->peak_ns = time_ns;
    s->peak_event = s->events;
    s->epoch++;
    s->high = s->live.bytes;
    s->high_event = s->events;
    s->high_ns = time_ns;
}

/* This process's part of a step of the grid is known. */
void heap_end_step(struct heap *h, struct heap_process *p)
{
    struct heap_state *s = p->state;
    uint64_t place = 0;
    struct heap_high high = {.event = s->high_event, .time_ns = s->high_ns};

    intmap_get(&h->pass->processes, p->number, &place);
    high.process = (uint32_t)(place - 1);
    if (s->began && s->high > s->live.bytes)
        high.rise = s->high - s->live.bytes;
    heap_grid_add(h->grid, s->step_ns, s->live.bytes - s->start_live, &high);
    s->start_live = s->high = s->live.bytes;
    s->high_event = s->events;
}

/* Events from now on have this time; false: they are after the stretch. */
bool heap_move_to(struct heap *h, struct heap_process *p, uint64_t time_ns, bool *in)
{
    struct heap_state *s = p->state;

    if (time_ns > h->pass->to_ns)
        return false;
    if (time_ns >= s->step_ns && time_ns / h->grid->step_ns != s->step_ns / h->grid->step_ns) {
        heap_end_step(h, p);
        s->step_ns = time_ns;
        s->high_ns = time_ns;
    }
    *in = time_ns >= h->pass->from_ns;
    if (*in && !s->began)
        heap_begin_stretch(p, time_ns);
    if (*in && time_ns < p->from_ns)
        p->from_ns = time_ns;
    if (time_ns > p->to_ns)
        p->to_ns = time_ns;
    return true;
}

void heap_rose(struct heap_process *p, uint64_t time_ns, bool in)
{
    struct heap_state *s = p->state;

    if (!in || s->live.bytes <= s->high)
        return;
    s->high = s->live.bytes;
    s->high_event = s->events;
    s->high_ns = time_ns;
    if (s->live.bytes <= p->peak.bytes)
        return;
    p->peak = s->live;
    p->peak_ns = time_ns;
    s->peak_event = s->events;
    s->epoch++;
}
