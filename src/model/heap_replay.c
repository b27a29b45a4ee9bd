/* heap_replay - see heap_replay.h. */
#include "model/heap_replay.h"

#include "base/memory.h"
#include "model/allowed.h"
#include "model/batches.h"
#include "model/heap_pass.h"
#include "model/mapping_read.h"
#include "model/space_lens.h"

#include <stdlib.h>

#define LIVED_MOST (HEAP_LIVED_CLASSES - 1)
#define LIVED_UNIT ((uint64_t)1 << 16) /* ns */

void heap_replay_start(struct heap *h, struct arena *arena)
{
    h->replay = arena_alloc(arena, sizeof(*h->replay));
    h->replay->heap = h;
}

/* Class n lived for less than 2^n units, and not less than 2^(n - 1); the last has no end. The
 * collector itself rounds to a unit.
 */
void heap_replay_born(const struct heap_change *c, uint64_t *from_ns, uint64_t *to_ns)
{
    uint64_t least = c->lived ? LIVED_UNIT << (c->lived - 1) : 0;
    uint64_t most = c->lived < LIVED_MOST ? (LIVED_UNIT << c->lived) + LIVED_UNIT : UINT64_MAX;

    least -= least ? LIVED_UNIT : 0;
    *from_ns = c->time_ns > most ? c->time_ns - most : 0;
    *to_ns = c->time_ns > least ? c->time_ns - least : 0;
    if (!c->info)
        *from_ns = *to_ns = c->born_ns;
}

static void hand_out(const struct heap_replay *r, const struct heap_change *c)
{
    for (int i = 0; i < r->count; i++)
        r->takers[i].take(r->takers[i].context, c);
}

/* The same to those who want it: few do, of most. */
static inline void hand_to(const struct heap_replay *r, uint32_t wanted,
                           const struct heap_change *c)
{
    for (; wanted; wanted &= wanted - 1) {
        int i = __builtin_ctz(wanted);

        r->takers[i].take(r->takers[i].context, c);
    }
}

/* So many events of a process are counted as when they were read first; false: they are after the
 * stretch.
 */
static bool count(struct heap_replay *r, struct heap_change *c, uint64_t time_ns, size_t events)
{
    if (time_ns > r->heap->pass->to_ns)
        return false;
    c->time_ns = time_ns;
    c->number = r->of[c->place - 1].events;
    r->of[c->place - 1].events += events;
    return true;
}

static uint32_t wanted_by(const struct heap_replay *r, const struct heap_process *p, uint64_t stack)
{
    uint32_t wanted = 0;

    for (int i = 0; i < r->count; i++)
        if (!r->takers[i].take_run &&
            (!r->takers[i].wants || r->takers[i].wants(r->takers[i].context, p, stack)))
            wanted |= (uint32_t)1 << i;
    return wanted;
}

/* Those that are not defined nobody wants. */
static const uint32_t *wanted_of(struct heap_replay *r, const struct heap_process *p,
                                 uint32_t place)
{
    const struct heap_state *s = p->state;
    uint32_t **wanted = &r->of[place - 1].wanted;

    if (*wanted)
        return *wanted;
    *wanted = memory_zeroed((s->info_count + 1) * sizeof(**wanted));
    for (size_t i = 1; i <= s->info_count; i++)
        if (s->infos[i].defined)
            (*wanted)[i] = wanted_by(r, p, s->infos[i].stack);
    return *wanted;
}

struct reading { /* of one record */
    struct heap_replay *replay;
    const uint32_t *wanted; /* apart from the infos, as it is asked for each event */
    struct heap_change change;
};

static inline uint32_t place_of(const struct heap_state *s, uint64_t number)
{
    if (s->places)
        return heap_info_known(s, number);
    return number <= s->info_count ? (uint32_t)number : 0;
}

static void take_item(struct reading *r, const struct batch_item *e, uint32_t place)
{
    struct heap_change *c = &r->change;
    const struct heap_info *info = &c->process->state->infos[place];

    c->info = place;
    c->stack = info->stack;
    c->bytes = info->bytes;
    c->freed = e->op == BATCH_FREE;
    c->revived = e->op == BATCH_UNFREE;
    c->lived = batch_lived(e);
    hand_to(r->replay, r->wanted[place], c);
}

static void take_items(struct reading *r, const struct batches_run *run)
{
    const struct heap_state *s = r->change.process->state;
    const struct batch_item *end = run->items + run->count;
    uint64_t number = r->change.number;

    for (const struct batch_item *e = run->items; e < end; e++) {
        uint32_t place = place_of(s, e->info);

        if (e + HEAP_AHEAD < end)
            __builtin_prefetch(&r->wanted[place_of(s, e[HEAP_AHEAD].info)]);
        if (!r->wanted[place])
            continue;
        r->change.number = number + (uint64_t)(e - run->items);
        take_item(r, e, place);
    }
}

static void take_run(void *context, const struct batches_run *run)
{
    struct reading *r = context;
    const struct heap_replay *replay = r->replay;

    if (!count(r->replay, &r->change, run->time_ns, run->count))
        return;
    r->change.thread = run->thread;
    for (int i = 0; i < replay->count; i++)
        if (replay->takers[i].take_run)
            replay->takers[i].take_run(replay->takers[i].context, &r->change, run->items,
                                       run->count);
    if (replay->single)
        take_items(r, run);
}

static void take_batch(struct heap_replay *r, const struct trace_event *ev)
{
    struct reading reading = {.replay = r,
                              .change.process = heap_process_of(r->heap, ev->batch.process)};

    if (!reading.change.process)
        return;
    reading.change.place = heap_place_of(r->heap, reading.change.process);
    if (r->single)
        reading.wanted = wanted_of(r, reading.change.process, reading.change.place);
    batches_each(ev, take_run, &reading);
}

static void end_block(struct heap_replay *r, const struct heap_change *c, struct heap_block *block)
{
    struct heap_change end = *c;

    end.stack = block->stack;
    end.bytes = block->amount.bytes;
    end.amount = block->amount;
    end.entry = block->entry;
    end.freed = true;
    end.born_ns = block->born_ns;
    end.block = block->address;
    heap_live_remove(&r->live, block);
    hand_out(r, &end);
}

static uint64_t address_of(const struct trace_event *ev)
{
    return ev->alloc.origin == SPACE_ORIGIN ? ev->fields[SPACE_ADDRESS_FIELD] : ev->alloc.address;
}

/* A sampled block that takes the place of another has ended it. */
static void take_sample(struct heap_replay *r, const struct trace_event *ev)
{
    struct heap_change c = {.process = heap_process_of_thread(r->heap, ev->alloc.thread)};
    struct heap_block *block;

    if (!c.process)
        return;
    c.place = heap_place_of(r->heap, c.process);
    if (!count(r, &c, ev->time_ns, 1))
        return;
    block = heap_live_find(&r->live, c.place, ev->alloc.address);
    if (block)
        end_block(r, &c, block);
    block = ev->kind == TRACE_ALLOC &&
                    heap_born(r->heap, ev->alloc.context, c.process->number) == BORN_THERE
              ? heap_live_add(&r->live, c.place, ev->alloc.address)
              : NULL;
    if (!block)
        return;
    block->amount = heap_weigh(ev);
    block->born_ns = ev->time_ns;
    block->stack = ev->alloc.stack <= r->heap->frames->stack_count ? (uint32_t)ev->alloc.stack : 0;
    block->entry = heap_sampled_place(r->heap, c.place, ev);
    c.context = ev->alloc.context;
    c.stack = block->stack;
    c.bytes = block->amount.bytes;
    c.amount = block->amount;
    c.entry = block->entry;
    c.block = ev->alloc.address;
    c.address = address_of(ev);
    c.sample = !heap_is_whole(ev);
    c.freed = false;
    hand_out(r, &c);
}

/* What is mapped counts as when it was read first. */
static void change_mapping(void *context, const struct mapping_change *m)
{
    struct heap_replay *r = context;
    struct heap_change c = {.process = heap_process_of(r->heap, m->mapping->process)};

    if (!c.process)
        return;
    c.place = heap_place_of(r->heap, c.process);
    if (!count(r, &c, m->time_ns, 1) ||
        heap_born(r->heap, m->mapping->context, c.process->number) != BORN_THERE)
        return;
    c.stack = m->mapping->stack <= r->heap->frames->stack_count ? m->mapping->stack : 0;
    c.bytes = m->bytes;
    c.amount = (struct heap_amount){m->bytes, m->milliblocks, 0, 0};
    c.entry = heap_mapped_place(r->heap, c.place, m->mapping);
    c.freed = m->ended;
    c.born_ns = m->mapping->born_ns;
    hand_out(r, &c);
}

static bool add(struct heap_replay *r, heap_replay_take *take, heap_replay_take_run *run,
                heap_replay_wants *wants, void *context, uint64_t until_ns)
{
    if (!r->heap->any)
        return true;
    if (r->count == HEAP_REPLAY_TAKERS)
        return false;
    r->live.most = ALLOWED_THINGS(r->heap->frames->names->file_bytes);
    if (!r->of)
        r->of = memory_zeroed((r->heap->process_count + 1) * sizeof(*r->of));
    r->mappings.change = change_mapping;
    r->mappings.context = r;
    r->single = r->single || !run;
    r->takers[r->count].take = take;
    r->takers[r->count].take_run = run;
    r->takers[r->count].wants = wants;
    r->takers[r->count++].context = context;
    r->until_ns = until_ns > r->until_ns ? until_ns : r->until_ns;
    return true;
}

bool heap_replay_add(struct heap_replay *r, heap_replay_take *take, void *context,
                     uint64_t until_ns)
{
    return add(r, take, NULL, NULL, context, until_ns);
}

bool heap_replay_add_some(struct heap_replay *r, heap_replay_take *take, heap_replay_wants *wants,
                          void *context, uint64_t until_ns)
{
    return add(r, take, NULL, wants, context, until_ns);
}

bool heap_replay_add_runs(struct heap_replay *r, heap_replay_take *take, heap_replay_take_run *run,
                          void *context, uint64_t until_ns)
{
    return add(r, take, run, NULL, context, until_ns);
}

void heap_replay(struct heap_replay *r, const struct trace_event *ev)
{
    if (ev->kind == TRACE_BATCH)
        take_batch(r, ev);
    else if (ev->kind == TRACE_ALLOC || ev->kind == TRACE_FREE)
        take_sample(r, ev);
    else if (ev->time_ns <= r->heap->pass->to_ns)
        mapping_read(&r->mappings, r->heap->threads, ev);
}

void heap_replay_end(struct heap_replay *r)
{
    heap_live_free(&r->live);
    mappings_free(&r->mappings);
    for (size_t i = 0; r->of && i < r->heap->process_count; i++)
        free(r->of[i].wanted);
    free(r->of);
    *r = (struct heap_replay){.heap = r->heap};
}
