/* heap_together - the live heap of all processes together: the one replay by times that peaks of
 * several processes and the timeline come from.
 *
 * A trace has the events of each process in their order, but up to a second of one process before
 * the same second of another. So they are put in the order of time; those of one time, which is a
 * tick of the recorder, in the order of the trace. A process that ends does so after all events of
 * that time. What is ordered are runs, the events of one record and time, of which the change and
 * the highest rise are known: there are few of them.
 *
 * Of a long trace only the last runs are kept: when there are too many, the earlier half is
 * replayed. It is far longer than the second that processes are apart; what comes later still (in a
 * trace that was tampered with) is taken as if it were of that moment.
 */
#include "model/heap_pass.h"
#include "model/heap_turn.h"

#include "base/memory.h"

#include <stdlib.h>

#define RUNS_MOST ((size_t)1 << 19)

struct heap_together_run {
    struct heap_turn turn;
    uint64_t change, rise; /* rise: above what lived before */
    uint64_t high_events;  /* of its process, up to the highest */
    uint64_t events;       /* up to the end of the run */
    uint32_t process;      /* its place in heap.processes */
};

static int by_time(const void *left, const void *right)
{
    const struct heap_together_run *l = left, *r = right;

    if (heap_turn_is_before(&l->turn, &r->turn))
        return -1;
    if (heap_turn_is_before(&r->turn, &l->turn))
        return 1;
    return l->process < r->process ? -1 : l->process > r->process;
}

/* ---- the replay ---- */

/* Before its events change: where it was at the peak. */
static void touch(const struct heap_together *t, struct heap_part *part)
{
    if (part->epoch == t->epoch)
        return;
    part->epoch = t->epoch;
    part->saved = part->events;
}

static bool note_peak(struct heap_together *t, uint64_t high, uint64_t time_ns)
{
    if (t->began && high <= t->peak)
        return false;
    t->began = true;
    t->peak = high;
    t->peak_ns = time_ns;
    t->epoch++;
    return true;
}

/* What lives when the stretch begins is its first peak. */
static void begin_stretch(struct heap *h)
{
    struct heap_together *t = &h->pass->together;

    if (!t->began)
        note_peak(t, t->live, h->pass->from_ns);
}

static void apply(struct heap *h, const struct heap_together_run *run)
{
    struct heap_together *t = &h->pass->together;
    struct heap_part *part = &h->processes[run->process]->state->part;
    bool ends = heap_turn_is_end(&run->turn);
    uint64_t before = t->live, high = before + run->rise;

    t->time_ns = run->turn.time_ns > t->time_ns ? run->turn.time_ns : t->time_ns;
    if (t->time_ns >= h->pass->from_ns)
        begin_stretch(h);
    touch(t, part);
    t->live += ends ? 0 - part->live : run->change;
    part->live = ends ? 0 : part->live + run->change;
    part->events = ends ? 0 : run->events;
    heap_grid_add(h->grid, t->time_ns, before, high, t->live);
    if (run->rise && t->time_ns >= h->pass->from_ns && note_peak(t, high, t->time_ns)) {
        part->epoch = t->epoch;
        part->saved = run->high_events;
    }
}

static void end_former(struct heap *h, const struct heap_together_run *run)
{
    struct heap_process *former = heap_former(h, h->processes[run->process]);

    if (!former || former->state->part.over)
        return;
    former->state->part.over = true;
    apply(h, &(struct heap_together_run){.turn = heap_turn(run->turn.time_ns, HEAP_RANK_ENDED, 0),
                                         .process = heap_place_of(h, former) - 1});
}

static void take(struct heap *h, const struct heap_together_run *run)
{
    if (h->processes[run->process]->state->part.over)
        return;
    end_former(h, run);
    apply(h, run);
}

static void replay(struct heap *h, size_t count)
{
    struct heap_together *t = &h->pass->together;

    memory_sort(t->runs, t->count, sizeof(*t->runs), by_time);
    for (size_t i = 0; i < count; i++)
        take(h, &t->runs[i]);
    t->count -= count;
    for (size_t i = 0; i < t->count; i++)
        t->runs[i] = t->runs[count + i];
}

/* ---- runs ---- */

static void add(struct heap_together *t, struct heap_together_run run)
{
    memory_fit(t->runs, t->room, t->count + 1);
    t->runs[t->count++] = run;
}

static void close_run(struct heap *h, struct heap_process *p)
{
    struct heap_state *s = p->state;
    struct heap_part *part = &s->part;
    struct heap_together_run run = {.process = heap_place_of(h, p) - 1};

    if (!part->open)
        return;
    part->open = part->ended = false;
    run.turn = heap_turn(part->time_ns, HEAP_RANK_EVENT, part->order);
    run.change = s->live.bytes - part->start;
    run.rise = s->began && s->high > part->start ? s->high - part->start : 0;
    run.high_events = s->high_event;
    run.events = s->events;
    add(&h->pass->together, run);
}

static void add_end(struct heap *h, struct heap_process *p)
{
    heap_set_end(h, p);
    if (p->end_ns < p->to_ns)
        p->end_ns = p->to_ns;
    if (p->end_ns == UINT64_MAX || p->state->part.ended)
        return;
    p->state->part.ended = true;
    add(&h->pass->together,
        (struct heap_together_run){.turn = heap_turn(p->end_ns, HEAP_RANK_ENDED, 0),
                                   .process = heap_place_of(h, p) - 1});
}

static void close_all(struct heap *h)
{
    for (size_t i = 0; i < h->process_count; i++) {
        close_run(h, h->processes[i]);
        add_end(h, h->processes[i]);
    }
}

/* In one process time does not go back. */
void heap_together_move(struct heap *h, struct heap_process *p, uint64_t time_ns)
{
    struct heap_together *t = &h->pass->together;
    struct heap_state *s = p->state;
    struct heap_part *part = &s->part;

    if (part->open && time_ns <= part->time_ns && part->order == t->order)
        return;
    close_run(h, p);
    if (t->count >= RUNS_MOST) {
        close_all(h);
        replay(h, t->count / 2);
    }
    part->open = true;
    part->order = t->order;
    part->start = s->high = s->live.bytes;
    part->time_ns = time_ns > part->time_ns ? time_ns : part->time_ns;
    s->high_event = s->events;
}

/* It did nothing after that; what the recorder noticed of it may be later. */
static void end_formers(struct heap *h)
{
    for (size_t i = 0; i < h->process_count; i++) {
        const struct heap_process *p = h->processes[i];
        struct heap_process *former = heap_former(h, p);

        if (former && former->end_ns > p->from_ns)
            former->end_ns = p->from_ns;
    }
}

void heap_together_end(struct heap *h)
{
    struct heap_together *t = &h->pass->together;

    close_all(h);
    end_formers(h);
    replay(h, t->count);
    begin_stretch(h);
    heap_grid_end(h->grid);
}

void heap_together_free(struct heap_together *t)
{
    free(t->runs);
    *t = (struct heap_together){0};
}

uint64_t heap_together_events(const struct heap *h, const struct heap_process *p)
{
    const struct heap_part *part = &p->state->part;

    return part->epoch == h->pass->together.epoch ? part->saved : part->events;
}
