/* recorded_again - the second pass over a trace, for what is known only once the first is over:
 * moments that are looked for, the events that a question follows memory by. All who want one share
 * it.
 */
#include "base/count.h"
#include "model/heap_replay.h"
#include "model/recorded.h"

void recorded_take_again(struct recorded *r, recorded_take *take, void *context, uint64_t until_ns)
{
    if (r->again_count == RECORDED_TAKERS)
        return;
    r->again[r->again_count].take = take;
    r->again[r->again_count].context = context;
    r->again[r->again_count++].until_ns = until_ns;
}

struct second_pass {
    struct recorded *recorded;
    struct {
        struct heap_replay *of; /* NULL: nobody wants events */
        uint64_t until_ns;
    } replays[2]; /* of the heap; and of what bounds it */
    uint64_t until_ns;
};

static void take_again(void *context, const struct trace_event *ev)
{
    const struct second_pass *p = context;
    struct recorded *r = p->recorded;

    for (int i = 0; i < COUNT(p->replays); i++)
        if (p->replays[i].of && ev->time_ns <= p->replays[i].until_ns)
            heap_replay(p->replays[i].of, ev);
    for (int i = 0; i < r->again_count; i++)
        if (ev->time_ns <= r->again[i].until_ns)
            r->again[i].take(r->again[i].context, ev);
}

static void add_replay(struct second_pass *p, int place, struct heap_replay *replay, uint64_t most)
{
    uint64_t until_ns = replay && replay->until_ns < most ? replay->until_ns : most;

    if (!replay || !replay->count)
        return;
    p->replays[place].of = replay;
    p->replays[place].until_ns = until_ns;
    p->until_ns = until_ns > p->until_ns ? until_ns : p->until_ns;
}

void recorded_read_again(struct recorded *r)
{
    struct second_pass pass = {.recorded = r};

    add_replay(&pass, 0, r->heap.replay, heap_until(&r->selection));
    add_replay(&pass, 1, recorded_bound_replay(r), UINT64_MAX);
    if (!pass.replays[0].of && !pass.replays[1].of && !r->again_count)
        return;
    for (int i = 0; i < r->again_count; i++)
        pass.until_ns = r->again[i].until_ns > pass.until_ns ? r->again[i].until_ns : pass.until_ns;
    recorded_pass(r, pass.until_ns, take_again, &pass);
    for (int i = 0; i < COUNT(pass.replays); i++)
        if (pass.replays[i].of)
            heap_replay_end(pass.replays[i].of);
    recorded_bound_again(r);
    r->again_count = 0;
}
