/* heap_entries - see heap_entries.h. Blocks of exact recordings are in heap_entries_exact.c. */
#include "model/heap_entries.h"

#include "base/memory.h"
#include "model/heap_entries_pass.h"

#include <stdlib.h>

#define OWNER_BITS 30

/* ---- owners ---- */

uint32_t heap_entries_owner(struct heap_entries *t, uint64_t stack, uint64_t thread,
                            unsigned int labels)
{
    uint64_t key, place;

    stack = stack <= t->heap->frames->stack_count ? stack : 0;
    if (t->like)
        stack = t->like(t->context, (uint32_t)stack);
    thread = thread >> OWNER_BITS ? 0 : thread;
    key = (stack << OWNER_BITS | thread) << 8 | labels;
    if (intmap_get(&t->pass->owners, key, &place))
        return (uint32_t)place;
    memory_fit(t->owners, t->owner_room, t->owner_count + 1);
    t->owners[t->owner_count] = (struct heap_owner){thread, (uint32_t)stack, labels};
    intmap_put(&t->pass->owners, key, t->owner_count);
    return (uint32_t)t->owner_count++;
}

/* ---- events ---- */

/* Of blocks that are known one by one: sampled, or of a device, where each is recorded. */
static int64_t count_of(const struct heap_entries *t, const struct heap_block *b)
{
    return (int64_t)(b->amount.milliblocks * (uint64_t)t->pass->unit / 1000);
}

static void leave_sampled(struct heap_entries *t, uint32_t place, uint16_t death)
{
    const struct heap_live *l = &t->order.live;

    for (size_t i = 0; l->used && i <= l->mask; i++) {
        const struct heap_block *b = &l->slots[i];
        struct heap_entry e = {b->entry, b->cell, death, count_of(t, b), (int64_t)b->amount.bytes};

        if (!b->process || (place && b->process != place))
            continue;
        heap_entry_put(&t->log, &e);
    }
}

static void take_sampled(struct heap_entries *t, const struct heap_order_event *e)
{
    unsigned int labels = heap_labels_of_context(t->labels, e->record->alloc.context);

    e->block->entry = heap_entries_owner(t, e->block->stack, e->thread, labels);
    e->block->cell = t->pass->cell;
}

static void take_released(struct heap_entries *t, const struct heap_block *b)
{
    struct heap_entry e = {b->entry, b->cell, t->pass->cell, count_of(t, b),
                           (int64_t)b->amount.bytes};

    t->pairing.named++;
    heap_entry_put(&t->log, &e);
}

static struct heap_mapped_logs logs_of(struct heap_entries *t)
{
    return (struct heap_mapped_logs){&t->log, &t->mapped, t->pass->unit};
}

static void take_mapped(struct heap_entries *t, const struct heap_order_event *e)
{
    const struct mapping *m = &e->change->mapping;
    const struct heap_mapped_logs to = logs_of(t);
    unsigned int labels = heap_labels_of_context(t->labels, m->context);
    uint32_t owner = heap_entries_owner(t, m->stack, m->thread, labels);

    if (e->kind == HEAP_ORDER_MAPPED)
        heap_mapped_began(&t->pass->mapped, e->place, e->change, owner, t->pass->cell);
    else
        heap_mapped_ended(&t->pass->mapped, e->place, e->change, owner, t->pass->cell, &to);
}

/* What is left of one process, or (0) of all. */
static void leave_mapped(struct heap_entries *t, uint32_t place, uint16_t death)
{
    const struct heap_mapped_logs to = logs_of(t);

    heap_mapped_leave(&t->pass->mapped, place, death, &to);
}

static void take(void *context, const struct heap_order_event *e)
{
    struct heap_entries *t = context;
    struct heap_entries_pass *s = t->pass;

    if (e->kind == HEAP_ORDER_NOTED)
        return;
    if (e->kind == HEAP_ORDER_RUN) {
        heap_entries_run(t, e);
        return;
    }
    heap_entries_move(t, e->ordinal);
    switch (e->kind) {
    case HEAP_ORDER_SAMPLED:
        take_sampled(t, e);
        break;
    case HEAP_ORDER_RELEASED:
        take_released(t, e->block);
        break;
    case HEAP_ORDER_MAPPED:
    case HEAP_ORDER_UNMAPPED:
        take_mapped(t, e);
        break;
    case HEAP_ORDER_ENDED:
        leave_mapped(t, e->place, s->cell | HEAP_ENTRY_WITH_IT);
        heap_entries_leave(t, e->place, s->cell | HEAP_ENTRY_WITH_IT);
        leave_sampled(t, e->place, s->cell | HEAP_ENTRY_WITH_IT);
        break;
    case HEAP_ORDER_RUN:
    case HEAP_ORDER_COURSE:
    case HEAP_ORDER_NOTED:
        break;
    }
}

/* ---- the whole ---- */

void heap_entries_start(struct heap_entries *t, const struct heap_edges *g, struct heap *h,
                        struct heap_labels *labels)
{
    *t = (struct heap_entries){.edges = g, .heap = h, .labels = labels};
    t->pass = memory_zeroed(sizeof(*t->pass));
    t->pass->unit = h->sampled ? 1000 : 1;
    t->pass->runs.finer = g->finer;
    heap_edges_coarse(g, t->pass->coarse);
    heap_order_start(&t->order, h, g->last_ns, take, t);
}

void heap_entries_record(void *entries, const struct trace_event *ev)
{
    heap_order_record(&((struct heap_entries *)entries)->order, ev);
}

void heap_entries_end(struct heap_entries *t)
{
    struct heap_entries_pass *s = t->pass;

    heap_order_flush(&t->order);
    heap_entries_end_exact(t);
    leave_sampled(t, 0, HEAP_ENTRY_ALIVE);
    leave_mapped(t, 0, HEAP_ENTRY_ALIVE);
    heap_order_free(&t->order);
    t->log.count = heap_entry_merge(t->log.list, t->log.count);
    t->mapped.count = heap_entry_merge(t->mapped.list, t->mapped.count);
    heap_mapped_runs_free(&s->mapped);
    intmap_free(&s->owners);
}

void heap_entries_free(struct heap_entries *t)
{
    if (!t->pass)
        return;
    free(t->owners);
    free(t->log.list);
    free(t->mapped.list);
    free(t->pass);
    *t = (struct heap_entries){0};
}
