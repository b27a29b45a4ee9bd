/* heap_worked - until when the program of each process worked. An interpreter that ends frees what
 * its program held: what that program kept is alive before, not after. Everybody else works until
 * the process ends. What a process held when it became another by exec(2) ended with its image:
 * nobody could have freed it, and it is no leak.
 */
#include "model/heap_pass.h"

#include "base/memory.h"

#define ENDS_MOST ((size_t)1 << 20)
#define EXECS_MOST 16u     /* one after the other, that allocate nothing */
#define FINALIZED_MOST 16u /* times that one process is believed to end */

/* The collector puts what came before such a mark before it. */
static void keep_state(struct heap_process *p)
{
    struct heap_state *s = p->state;

    s->worked = memory_resize(s->worked, (s->info_count + 1) * sizeof(*s->worked));
    s->worked_count = s->info_count;
    for (size_t i = 1; i <= s->info_count; i++)
        s->worked[i] = s->infos[i].live;
    s->finalized++;
    p->worked = s->live;
}

void heap_worked_note(const struct heap_state *s, struct heap_sampled *e)
{
    if (e->finalized == s->finalized)
        return;
    e->finalized = s->finalized;
    e->worked = e->sums.live;
}

void heap_take_mark(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p;

    if (ev->mark.mark_kind != TRACE_MARK_FINALIZING || ev->time_ns > h->pass->to_ns)
        return;
    p = heap_process_of_thread(h, ev->mark.thread);
    if (!p || p->state->finalized == FINALIZED_MOST)
        return;
    p->worked_ns = ev->time_ns;
    keep_state(p);
}

/* How a process ended may be told later than that it did: when is what was told first. */
void heap_take_end(struct heap *h, const struct trace_event *ev)
{
    uint64_t execed = ev->process_end.end == TRACE_END_EXECED, end = ev->time_ns << 1, known;

    if (h->pass->ends.used >= ENDS_MOST || ev->process_end.end == TRACE_END_OUTLIVED ||
        ev->time_ns > h->pass->to_ns)
        return;
    if (intmap_get(&h->pass->ends, ev->process_end.process, &known))
        end = known;
    intmap_put(&h->pass->ends, ev->process_end.process, end | execed);
}

/* It may be told after its first events. */
void heap_take_process(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p = heap_process_of(h, ev->process.process);

    if (ev->process.born != TRACE_BORN_EXECED || !ev->process.parent ||
        ev->process.parent >= ev->process.process || h->pass->was.used >= ENDS_MOST)
        return;
    intmap_put(&h->pass->was, ev->process.process, ev->process.parent);
    if (p)
        p->was = ev->process.parent;
}

struct heap_process *heap_former(const struct heap *h, const struct heap_process *p)
{
    uint64_t number = p->was;

    for (unsigned int i = 0; number && i < EXECS_MOST; i++) {
        struct heap_process *former = heap_process_of(h, number);

        if (former)
            return former;
        if (!intmap_get(&h->pass->was, number, &number))
            return NULL;
    }
    return NULL;
}

void heap_set_end(const struct heap *h, struct heap_process *p)
{
    uint64_t end;

    if (!intmap_get(&h->pass->ends, p->number, &end))
        return;
    p->end_ns = end >> 1;
    p->execed = end & 1;
}

static void infos_at(const struct heap_process *p)
{
    struct heap_state *s = p->state;
    uint64_t *at = heap_state_at(s);

    for (size_t i = 1; i <= s->info_count; i++) {
        uint64_t live = s->infos[i].live;

        if (p->worked_ns)
            live = i <= s->worked_count ? s->worked[i] : 0;
        at[i] = p->execed ? 0 : live;
    }
}

static void sampled_at(const struct heap_process *p, struct heap_sampled *e)
{
    bool changed = p->worked_ns && e->finalized == p->state->finalized;

    e->at = changed ? e->worked : e->sums.live;
    if (p->execed)
        e->at = (struct heap_amount){0};
}

void heap_worked_at(struct heap *h)
{
    for (size_t n = 0; n < h->process_count; n++)
        infos_at(h->processes[n]);
    for (size_t i = 0; i < h->pass->sampled_count; i++) {
        struct heap_sampled *e = &h->pass->sampled[i];

        sampled_at(h->processes[e->process - 1], e);
    }
}

struct heap_amount heap_worked_sum(const struct heap *h)
{
    struct heap_amount sum = {0};

    for (size_t i = 0; i < h->process_count; i++) {
        const struct heap_process *p = h->processes[i];

        if (!p->execed)
            heap_add(&sum, p->worked_ns ? &p->worked : &p->sums.live);
    }
    return sum;
}

struct heap_amount heap_execed_sum(const struct heap *h)
{
    struct heap_amount sum = {0};

    for (size_t i = 0; i < h->process_count; i++)
        if (h->processes[i]->execed)
            heap_add(&sum, &h->processes[i]->sums.live);
    return sum;
}
