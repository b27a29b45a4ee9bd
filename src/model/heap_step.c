/* heap_step - a process moves on in time: the stretch that is asked about, and its peaks. */
#include "model/heap_pass.h"

/* The stretch that is asked about begins: what lives is its first peak. */
void heap_begin_stretch(struct heap_process *p, uint64_t time_ns)
{
    struct heap_state *s = p->state;

    s->began = true;
    p->peak = s->live;
    p->peak_ns = time_ns;
    s->epoch++;
    s->high = s->live.bytes;
    s->high_event = s->events;
    heap_twin_begin(s);
}

/* Events from now on have this time; false: they are after the stretch. */
bool heap_move_to(struct heap *h, struct heap_process *p, uint64_t time_ns, bool *in)
{
    if (time_ns > h->pass->to_ns)
        return false;
    heap_together_move(h, p, time_ns);
    *in = time_ns >= h->pass->from_ns;
    if (*in && !p->state->began)
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
    if (s->live.bytes <= p->peak.bytes)
        return;
    p->peak = s->live;
    p->peak_ns = time_ns;
    s->twin.peak = s->twin.sampled;
    s->epoch++;
}
