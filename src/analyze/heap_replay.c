/* heap_replay - see heap_replay.h. */
#include "analyze/heap_replay.h"

#include "analyze/heap_pass.h"

static bool passes(struct heap_replay *r, struct heap_process *p, uint64_t time_ns)
{
    return !r->cut || heap_goes_on(r->heap, p->state, time_ns);
}

#define LIVED_MOST (HEAP_LIVED_CLASSES - 1)
#define LIVED_UNIT ((uint64_t)1 << 16) /* ns */

/* Class n lived for less than 2^n units, and not less than 2^(n - 1); the last has no end. The
 * collector itself rounds to a unit.
 */
static void set_born(struct heap_change *c, unsigned int lived)
{
    uint64_t least = lived ? LIVED_UNIT << (lived - 1) : 0;
    uint64_t most = lived < LIVED_MOST ? (LIVED_UNIT << lived) + LIVED_UNIT : UINT64_MAX;

    least -= least ? LIVED_UNIT : 0;
    c->born_from_ns = c->time_ns > most ? c->time_ns - most : 0;
    c->born_to_ns = c->time_ns > least ? c->time_ns - least : 0;
}

static void take_batch(struct heap_replay *r, const struct trace_event *ev)
{
    struct heap_change c = {.process = heap_process_of(r->heap, ev->batch.process)};
    struct batch_reader reader;
    struct batch_event e;
    uint64_t place;

    if (!c.process || !intmap_get(&r->heap->pass->processes, c.process->number, &place) ||
        batch_open(&reader, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0)
        return;
    c.place = (uint32_t)place;
    while (batch_next(&reader, &e) > 0) {
        if (!passes(r, c.process, e.time_ns) || !e.info || e.info > c.process->state->info_count)
            continue;
        c.info = &c.process->state->infos[e.info];
        if (!c.info->defined)
            continue;
        c.time_ns = e.time_ns;
        c.stack = c.info->stack;
        c.bytes = c.info->bytes;
        c.freed = e.op == BATCH_FREE;
        c.revived = e.op == BATCH_UNFREE;
        if (c.freed)
            set_born(&c, e.lived);
        r->take(r->context, &c);
    }
}

/* A sampled block that takes the place of another has ended it. */
static void take_sample(struct heap_replay *r, const struct trace_event *ev)
{
    struct heap_change c = {.process = heap_process_of_thread(r->heap, ev->alloc.thread),
                            .time_ns = ev->time_ns};
    struct heap_block *block;
    uint64_t place;

    if (!c.process || !intmap_get(&r->heap->pass->processes, c.process->number, &place) ||
        !passes(r, c.process, ev->time_ns))
        return;
    c.place = (uint32_t)place;
    block = heap_live_find(&r->live, c.place, ev->alloc.address);
    if (block) {
        c.stack = block->entry;
        c.bytes = block->amount.bytes;
        c.freed = true;
        c.born_from_ns = c.born_to_ns = block->born_ns;
        heap_live_remove(&r->live, block);
        r->take(r->context, &c);
    }
    if (ev->kind != TRACE_ALLOC)
        return;
    block = heap_live_add(&r->live, c.place, ev->alloc.address);
    if (!block)
        return;
    block->amount = heap_weigh(ev);
    block->born_ns = ev->time_ns;
    block->entry = ev->alloc.stack <= r->heap->frames.stack_count ? (uint32_t)ev->alloc.stack : 0;
    c.stack = block->entry;
    c.bytes = block->amount.bytes;
    c.freed = false;
    r->take(r->context, &c);
}

void heap_replay(struct heap_replay *r, const struct trace_event *ev)
{
    if (ev->kind == TRACE_BATCH)
        take_batch(r, ev);
    else if (ev->kind == TRACE_ALLOC || ev->kind == TRACE_FREE)
        take_sample(r, ev);
}

void heap_replay_end(struct heap_replay *r)
{
    heap_live_free(&r->live);
}
