/* heap_events - see heap_events.h. */
#include "model/heap_events.h"

#include "base/memory.h"
#include "model/heap_pass.h"

#include <stdlib.h>

#define BLOCKS_MOST ((size_t)1 << 24)
#define MAPPED ((uint64_t)1 << 63) /* of a key: mappings, not infos */

/* ---- lists of blocks that nothing tells apart ---- */

static uint32_t list_of(struct heap_events *t, uint32_t place, uint64_t what)
{
    uint64_t key = (uint64_t)place << 32 ^ what, known;

    if (intmap_get(&t->lists, key, &known))
        return (uint32_t)known;
    memory_fit(t->list, t->list_room, t->list_count + 1);
    t->list[t->list_count].first = t->list[t->list_count].last = 0;
    intmap_put(&t->lists, key, ++t->list_count);
    return (uint32_t)t->list_count;
}

static uint32_t add_block(struct heap_events *t, struct heap_events_block b)
{
    uint32_t number;

    if (t->count == BLOCKS_MOST)
        return 0;
    memory_fit(t->blocks, t->room, t->count + 1);
    t->blocks[t->count] = b;
    number = (uint32_t)++t->count;
    memory_fit_zeroed(t->processes, t->process_room, (size_t)b.place + 1);
    t->blocks[t->count - 1].before = t->processes[b.place].last;
    t->processes[b.place].last = number;
    if (t->list[b.list - 1].first)
        t->blocks[t->list[b.list - 1].last - 1].next = number;
    else
        t->list[b.list - 1].first = number;
    t->list[b.list - 1].last = number;
    return number;
}

/* The oldest that lives; 0: none does. */
static uint32_t oldest(struct heap_events *t, uint32_t list)
{
    uint32_t at = t->list[list - 1].first;

    while (at && t->blocks[at - 1].dead)
        at = t->blocks[at - 1].next;
    t->list[list - 1].first = at;
    return at;
}

/* ---- what is told ---- */

static void tell(struct heap_events *t, const struct heap_order_event *e, uint32_t block,
                 bool freed)
{
    struct heap_events_block *b;
    struct heap_event out;

    if (!block)
        return;
    b = &t->blocks[block - 1];
    b->dead = freed;
    t->processes[e->place].live += freed ? -b->bytes : b->bytes;
    out = (struct heap_event){.freed = freed,
                              .time_ns = e->time_ns,
                              .thread = e->kind == HEAP_ORDER_ENDED ? 0 : e->thread,
                              .process = e->process,
                              .place = e->place,
                              .block = block,
                              .bytes = b->bytes,
                              .stack = b->stack,
                              .address = b->address,
                              .live = t->processes[e->place].live};
    t->take(t->context, &out);
}

/* ---- exact ---- */

static uint32_t *latest_of(struct heap_events *t, uint64_t thread, uint64_t **count)
{
    uint64_t known;

    if (!intmap_get(&t->threads, thread, &known)) {
        memory_fit_zeroed(t->latest, t->latest_room, t->latest_count + 1);
        known = ++t->latest_count;
        intmap_put(&t->threads, thread, known);
    }
    *count = &t->latest[known - 1].count;
    return t->latest[known - 1].of;
}

static void take_alloc(struct heap_events *t, const struct heap_order_event *e, uint32_t place)
{
    uint64_t *count;
    uint32_t *latest = latest_of(t, e->thread, &count), block = 0;

    if (place) {
        const struct heap_info *info = &e->process->state->infos[place];

        block = add_block(t, (struct heap_events_block){.bytes = info->bytes,
                                                        .place = e->place,
                                                        .stack = info->stack,
                                                        .list = list_of(t, e->place, place)});
    }
    latest[(*count)++ % HEAP_EVENTS_LATEST] = block;
    tell(t, e, block, false);
}

/* The one that its thread allocated so many ago, if it is of this list. */
static uint32_t named(struct heap_events *t, uint64_t thread, const struct batch_item *b,
                      uint32_t list)
{
    uint64_t *count;
    const uint32_t *latest = latest_of(t, thread, &count);
    uint32_t block, later = batch_later_allocs(b);

    if (later >= HEAP_EVENTS_LATEST - 1 || *count <= later)
        return 0;
    block = latest[(*count - 1 - later) % HEAP_EVENTS_LATEST];
    return block && t->blocks[block - 1].list == list && !t->blocks[block - 1].dead ? block : 0;
}

static void take_run(struct heap_events *t, const struct heap_order_event *e)
{
    for (const struct batch_item *b = e->items; b < e->items + e->count; b++) {
        uint32_t place = heap_info_known(e->process->state, b->info), list, block;

        if (b->op != BATCH_FREE) {
            take_alloc(t, e, place);
        } else if (place) {
            list = list_of(t, e->place, place);
            block = named(t, e->thread, b, list);
            tell(t, e, block ? block : oldest(t, list), true);
        }
    }
}

/* ---- sampled, and mapped ---- */

static void take_sampled(struct heap_events *t, const struct heap_order_event *e)
{
    struct heap_block *b = e->block;

    b->entry = add_block(t, (struct heap_events_block){.bytes = b->amount.bytes,
                                                       .address = b->address,
                                                       .place = e->place,
                                                       .stack = b->stack,
                                                       .list = list_of(t, e->place, 0)});
    tell(t, e, b->entry, false);
}

static uint64_t mapped_key(const struct heap_order_event *e)
{
    return MAPPED | (uint32_t)e->change->mapping.stack;
}

static void map(struct heap_events *t, const struct heap_order_event *e, uint64_t bytes)
{
    const struct mapping *m = &e->change->mapping;
    uint64_t stack = m->stack <= t->order.heap->frames->stack_count ? m->stack : 0;

    tell(t, e,
         add_block(t, (struct heap_events_block){.bytes = bytes,
                                                 .place = e->place,
                                                 .stack = (uint32_t)stack,
                                                 .list = list_of(t, e->place, mapped_key(e))}),
         false);
}

/* Of a mapping of which a part goes the rest comes again. */
static void unmap(struct heap_events *t, const struct heap_order_event *e)
{
    uint32_t list = list_of(t, e->place, mapped_key(e)), block;
    uint64_t left = e->change->change.bytes;

    while (left && (block = oldest(t, list))) {
        uint64_t bytes = t->blocks[block - 1].bytes;

        tell(t, e, block, true);
        if (bytes > left)
            map(t, e, bytes - left);
        left -= bytes < left ? bytes : left;
    }
}

static void end_process(struct heap_events *t, const struct heap_order_event *e)
{
    uint32_t at = e->place < t->process_room ? t->processes[e->place].last : 0;

    for (; at; at = t->blocks[at - 1].before)
        if (!t->blocks[at - 1].dead)
            tell(t, e, at, true);
    if (e->place < t->process_room)
        t->processes[e->place].last = 0;
}

static void take(void *context, const struct heap_order_event *e)
{
    struct heap_events *t = context;

    switch (e->kind) {
    case HEAP_ORDER_RUN:
        take_run(t, e);
        break;
    case HEAP_ORDER_SAMPLED:
        take_sampled(t, e);
        break;
    case HEAP_ORDER_RELEASED:
        tell(t, e, e->block->entry, true);
        break;
    case HEAP_ORDER_MAPPED:
        map(t, e, e->change->change.bytes);
        break;
    case HEAP_ORDER_UNMAPPED:
        unmap(t, e);
        break;
    case HEAP_ORDER_ENDED:
        end_process(t, e);
        break;
    case HEAP_ORDER_COURSE:
    case HEAP_ORDER_NOTED:
        break;
    }
}

/* ---- the whole ---- */

void heap_events_start(struct heap_events *t, struct heap *h, uint64_t last_ns,
                       heap_events_take *told, void *context)
{
    t->take = told;
    t->context = context;
    heap_order_start(&t->order, h, last_ns, take, t);
}

void heap_events_record(void *events, const struct trace_event *ev)
{
    heap_order_record(&((struct heap_events *)events)->order, ev);
}

void heap_events_end(struct heap_events *t)
{
    heap_order_flush(&t->order);
    heap_order_free(&t->order);
    intmap_free(&t->lists);
    intmap_free(&t->threads);
    free(t->blocks);
    free(t->list);
    free(t->latest);
    free(t->processes);
}
