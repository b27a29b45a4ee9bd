/* heap_reach - which blocks were lost: alive, and nothing pointed to them. */
#include "model/heap_pass.h"

#include "base/memory.h"

/* Each look is of all blocks: what an earlier one has found does not count any more. */
static void begin_look(struct heap_process *p, uint64_t time_ns)
{
    p->looked_at = true;
    p->looked_ns = time_ns;
    if (p->state->unreached)
        memset(p->state->unreached, 0, p->state->unreached_room * sizeof(*p->state->unreached));
}

/* Info 0: the process was looked at. */
void heap_take_unreached(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p = heap_process_of(h, ev->unreached.process);
    uint32_t place = p ? heap_info_place(p->state, ev->unreached.info) : 0;
    uint64_t *unreached;

    if (!p || (ev->unreached.info && !place)) {
        h->left_out++;
        return;
    }
    if (ev->time_ns > h->pass->to_ns || place >= HEAP_PLACE_ELSEWHERE ||
        (h->options.at == SELECTION_AT_TIME && ev->time_ns > h->options.at_ns))
        return;
    if (!ev->unreached.info) {
        begin_look(p, ev->time_ns);
        return;
    }
    memory_fit_zeroed(p->state->unreached, p->state->unreached_room, (size_t)place + 1);
    unreached = &p->state->unreached[place];
    if (ev->unreached.blocks <= p->state->infos[place].live - *unreached)
        *unreached += ev->unreached.blocks;
}

uint64_t heap_reach_ns(const struct heap *h)
{
    uint64_t first_ns = UINT64_MAX;

    for (size_t i = 0; i < h->process_count; i++)
        if (h->processes[i]->looked_at && h->processes[i]->looked_ns < first_ns)
            first_ns = h->processes[i]->looked_ns;
    return first_ns;
}

bool heap_reach_known(const struct heap *h)
{
    bool any = false;

    for (size_t i = 0; i < h->process_count; i++) {
        const struct heap_process *p = h->processes[i];

        if (!p->looked_at && !p->execed && p->sums.live.milliblocks)
            return false;
        any = any || p->looked_at;
    }
    return any;
}
