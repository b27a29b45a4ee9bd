/* heap_replay - see heap_replay.h. */
#include "analyze/heap_replay.h"

#include "analyze/heap_pass.h"

static bool passes(struct heap_replay *r, struct heap_process *p, uint64_t time_ns)
{
    return !r->cut || heap_goes_on(r->heap, p->state, time_ns);
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
        heap_live_remove(&r->live, block);
        r->take(r->context, &c);
    }
    if (ev->kind != TRACE_ALLOC)
        return;
    block = heap_live_add(&r->live, c.place, ev->alloc.address);
    if (!block)
        return;
    block->amount = heap_weigh(ev);
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
