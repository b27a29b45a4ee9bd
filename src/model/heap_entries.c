/* heap_entries - see heap_entries.h. An info has its living blocks as runs: so many of one cell and
 * owner, the newest first. Those that die in the cell of their birth, which most do, are counted
 * beside and written down when the cell is over.
 */
#include "model/heap_entries.h"

#include "base/memory.h"
#include "model/heap_mapped_runs.h"
#include "model/heap_pass.h"
#include "model/heap_replay.h"
#include "model/heap_runs.h"

#include <stdlib.h>

#define LATEST 16u       /* allocations of a thread that are known one by one */
#define TICK_NS 4000000u /* times are known to a tick of the collector */
#define OWNER_BITS 30

struct slot { /* of an info */
    uint32_t run;
    uint32_t owner, thread; /* the last, */
    uint32_t labels;
    uint32_t brief, brief_owner; /* blocks that died in the cell of their birth */
    uint16_t brief_cell;
    bool owned;
};

struct latest { /* of a thread */
    struct {
        uint32_t info, owner;
        struct heap_cell cell;
    } of[LATEST];
    uint32_t count;
};

struct heap_entries_pass {
    struct {
        struct slot *of; /* by info */
        size_t room;
        struct heap_freed freed;
    } * slots; /* by place of the process */
    size_t slots_room;
    struct heap_runs runs;
    struct heap_mapped_runs mapped;
    struct latest *latest;
    size_t latest_room;
    uint64_t thread, thread_place; /* the last one */
    struct intmap owners;
    uint16_t cell;
    uint16_t
        coarse[HEAP_EDGES_MOST]; /* by cell: that of the coarse grid, by which blocks are found */
    uint64_t age_ns;             /* the time that the next is of */
    struct {
        uint16_t from, to, likely;
        bool known;
    } ages[HEAP_LIVED_CLASSES];
    int64_t unit; /* of counts for a block */
};

/* ---- owners ---- */

uint32_t heap_entries_owner(struct heap_entries *t, uint64_t stack, uint64_t thread,
                            unsigned int labels)
{
    uint64_t key, place;

    stack = stack <= t->heap->frames->stack_count ? stack : 0;
    thread = thread >> OWNER_BITS ? 0 : thread;
    key = (stack << OWNER_BITS | thread) << 8 | labels;
    if (intmap_get(&t->pass->owners, key, &place))
        return (uint32_t)place;
    memory_fit(t->owners, t->owner_room, t->owner_count + 1);
    t->owners[t->owner_count] = (struct heap_owner){thread, (uint32_t)stack, labels};
    intmap_put(&t->pass->owners, key, t->owner_count);
    return (uint32_t)t->owner_count++;
}

/* ---- which block ---- */

/* Where the event is that is taken. */
static struct heap_cell cell_of(const struct heap_entries_pass *s)
{
    return (struct heap_cell){s->coarse[s->cell], s->cell};
}

/* The oldest of some cells, of the thread that frees it if there is one. */
static uint32_t *find_aged(const struct heap_entries *t, struct slot *slot, uint64_t thread,
                           uint16_t from, uint16_t to)
{
    struct heap_entries_pass *s = t->pass;
    uint32_t *any = NULL, *own = NULL;

    for (uint32_t *link = &slot->run; *link && s->runs.list[*link].cell >= from;
         link = &s->runs.list[*link].next) {
        if (s->runs.list[*link].cell > to)
            continue;
        any = link;
        own = t->owners[s->runs.list[*link].owner].thread == thread ? link : own;
    }
    return own ? own : any;
}

/* ---- events ---- */

static struct slot *slot_of(struct heap_entries_pass *s, uint32_t place, uint32_t info)
{
    memory_fit_zeroed(s->slots, s->slots_room, (size_t)place + 1);
    memory_fit_zeroed(s->slots[place].of, s->slots[place].room, (size_t)info + 1);
    return &s->slots[place].of[info];
}

static struct latest *latest_of(struct heap_entries *t, uint64_t number)
{
    struct heap_entries_pass *s = t->pass;
    const struct threads_thread *thread;

    if (number != s->thread || !s->latest_room) {
        thread = threads_find(t->heap->threads, number);
        s->thread = number;
        s->thread_place = thread ? thread->place + 1 : 0;
        memory_fit_zeroed(s->latest, s->latest_room, s->thread_place + 1);
    }
    return &s->latest[s->thread_place];
}

static uint32_t owner_of(struct heap_entries *t, const struct heap_order_event *e,
                         struct slot *slot)
{
    unsigned int labels = t->labels->count
                            ? heap_labels_of_info(t->labels, e->process->number, e->number)
                            : 0;

    if (!slot->owned || slot->thread != (uint32_t)e->thread || slot->labels != labels) {
        uint32_t stack = e->process->state->infos[e->info].stack;

        slot->owner = heap_entries_owner(t, stack, e->thread, labels);
        slot->thread = (uint32_t)e->thread;
        slot->labels = labels;
        slot->owned = true;
    }
    return slot->owner;
}

static void take_alloc(struct heap_entries *t, const struct heap_order_event *e)
{
    struct heap_entries_pass *s = t->pass;
    struct latest *l = latest_of(t, e->thread);
    uint32_t at = l->count++ % LATEST, owner = 0;

    if (e->info) {
        struct slot *slot = slot_of(s, e->place, e->info);

        owner = owner_of(t, e, slot);
        heap_runs_add(&s->runs, &slot->run, owner, cell_of(s));
    }
    l->of[at].info = e->info;
    l->of[at].owner = owner;
    l->of[at].cell = cell_of(s);
}

static void end_brief(struct heap_entries *t, struct slot *slot, uint64_t bytes)
{
    struct heap_entry e = {slot->brief_owner, slot->brief_cell, slot->brief_cell,
                           (int64_t)slot->brief * t->pass->unit, (int64_t)(slot->brief * bytes)};

    if (slot->brief)
        heap_entry_put(&t->log, &e);
    slot->brief = 0;
}

static void die(struct heap_entries *t, struct slot *slot, uint64_t bytes, uint32_t owner,
                uint16_t birth)
{
    struct heap_entries_pass *s = t->pass;
    struct heap_entry e = {owner, birth, s->cell, s->unit, (int64_t)bytes};

    if (birth != s->cell) {
        heap_entry_put(&t->log, &e);
        return;
    }
    if (slot->brief_cell != s->cell || slot->brief_owner != owner)
        end_brief(t, slot, bytes);
    slot->brief_cell = s->cell;
    slot->brief_owner = owner;
    slot->brief++;
}

/* The cells of the coarse grid that a block of that age may be of, and the first fine one. */
static void find_ages(struct heap_entries *t, const struct heap_order_event *e, uint16_t *from,
                      uint16_t *to, uint16_t *likely)
{
    struct heap_entries_pass *s = t->pass;
    uint16_t now = s->coarse[s->cell];
    uint64_t from_ns, to_ns;

    if (s->age_ns != e->time_ns)
        for (int i = 0; i < HEAP_LIVED_CLASSES; i++)
            s->ages[i].known = false;
    s->age_ns = e->time_ns;
    if (!s->ages[e->lived].known) {
        struct heap_change c = {.info = 1, .time_ns = e->time_ns, .lived = e->lived};

        heap_replay_born(&c, &from_ns, &to_ns);
        from_ns -= from_ns < TICK_NS ? from_ns : TICK_NS;
        to_ns += TICK_NS;
        s->ages[e->lived].from = (uint16_t)heap_edges_coarse_cell(t->edges, from_ns);
        s->ages[e->lived].to = (uint16_t)heap_edges_coarse_cell(t->edges, to_ns);
        s->ages[e->lived].likely = (uint16_t)heap_edges_cell(t->edges, from_ns);
        s->ages[e->lived].known = true;
    }
    *likely = s->ages[e->lived].likely;
    *from = s->ages[e->lived].from;
    *to = s->ages[e->lived].to < now ? s->ages[e->lived].to : now;
    *from = *from < *to ? *from : *to;
}

/* The run of the block that a free is of, and the cell where it may have been born. */
static uint32_t *find_block(struct heap_entries *t, struct slot *slot,
                            const struct heap_order_event *e, uint16_t *likely)
{
    struct heap_entries_pass *s = t->pass;
    const struct latest *l = latest_of(t, e->thread);
    uint32_t at = (l->count - 1 - e->later) % LATEST, *link = NULL;
    uint16_t from, to;

    *likely = l->of[at].cell.fine;
    if (e->later < TRACE_LATER_MANY && l->count > e->later && l->of[at].info == e->info)
        link = heap_runs_named(&s->runs, &slot->run, l->of[at].owner, l->of[at].cell.coarse);
    t->pairing.named += link != NULL;
    if (link)
        return link;
    find_ages(t, e, &from, &to, likely);
    link = find_aged(t, slot, e->thread, from, to);
    t->pairing.aged += link != NULL;
    t->pairing.ambiguous += link != NULL && from != to && s->runs.list[slot->run].next;
    if (link)
        return link;
    t->pairing.fallback++;
    return find_aged(t, slot, e->thread, 0, s->coarse[s->cell]);
}

static void take_free(struct heap_entries *t, const struct heap_order_event *e)
{
    struct heap_entries_pass *s = t->pass;
    struct slot *slot = e->info ? slot_of(s, e->place, e->info) : NULL;
    uint16_t likely = 0;
    uint32_t *link = slot && slot->run ? find_block(t, slot, e, &likely) : NULL;
    struct heap_cell birth;
    uint32_t owner;

    if (!link)
        return;
    owner = s->runs.list[*link].owner;
    birth = heap_runs_take(&s->runs, link, likely);
    die(t, slot, e->process->state->infos[e->info].bytes, owner, birth.fine);
    heap_freed_note(&s->slots[e->place].freed,
                    (struct heap_freed_one){e->info, owner, birth, s->cell});
}

/* A free is taken back. */
static void take_unfree(struct heap_entries *t, const struct heap_order_event *e)
{
    struct heap_entries_pass *s = t->pass;
    struct slot *slot = e->info ? slot_of(s, e->place, e->info) : NULL;
    struct heap_freed_one *f = slot ? heap_freed_find(&s->slots[e->place].freed, e->info) : NULL;

    if (f) {
        int64_t bytes = (int64_t)e->process->state->infos[e->info].bytes;
        struct heap_entry undo = {f->owner, f->birth.fine, f->death, -s->unit, -bytes};

        heap_entry_put(&t->log, &undo);
        heap_runs_add(&s->runs, &slot->run, f->owner, f->birth);
        f->info = 0;
    } else if (slot) {
        t->pairing.fallback++;
        heap_runs_add(&s->runs, &slot->run, owner_of(t, e, slot), cell_of(s));
    }
}

/* What is left of a process: it dies with it, or is alive at the end. */
static void leave(struct heap_entries *t, uint32_t place, uint16_t death)
{
    struct heap_entries_pass *s = t->pass;
    const struct heap_info *infos = place <= t->heap->process_count
                                      ? t->heap->processes[place - 1]->state->infos
                                      : NULL;

    for (size_t i = 1; infos && place < s->slots_room && i < s->slots[place].room; i++) {
        struct slot *slot = &s->slots[place].of[i];

        while (slot->run) {
            struct heap_entry e = {.owner = s->runs.list[slot->run].owner, .death = death};
            uint32_t count = heap_runs_take_all(&s->runs, &slot->run, &e.birth);

            e.count = count * s->unit;
            e.bytes = (int64_t)(count * infos[i].bytes);
            heap_entry_put(&t->log, &e);
        }
    }
}

static void leave_sampled(struct heap_entries *t, uint32_t place, uint16_t death)
{
    const struct heap_live *l = &t->order.live;

    for (size_t i = 0; l->used && i <= l->mask; i++) {
        const struct heap_block *b = &l->slots[i];
        struct heap_entry e = {b->entry, b->cell, death, (int64_t)b->amount.milliblocks,
                               (int64_t)b->amount.bytes};

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
    struct heap_entry e = {b->entry, b->cell, t->pass->cell, (int64_t)b->amount.milliblocks,
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
    while (s->cell + 1 < t->edges->count && e->ordinal > t->edges->list[s->cell].after)
        s->cell++;
    switch (e->kind) {
    case HEAP_ORDER_ALLOC:
        take_alloc(t, e);
        break;
    case HEAP_ORDER_FREE:
        take_free(t, e);
        break;
    case HEAP_ORDER_UNFREE:
        take_unfree(t, e);
        break;
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
        leave(t, e->place, s->cell | HEAP_ENTRY_WITH_IT);
        leave_sampled(t, e->place, s->cell | HEAP_ENTRY_WITH_IT);
        break;
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
    for (uint32_t place = 1; place < s->slots_room; place++) {
        leave(t, place, HEAP_ENTRY_ALIVE);
        for (size_t i = 1; i < s->slots[place].room; i++)
            if (s->slots[place].of[i].brief)
                end_brief(t, &s->slots[place].of[i],
                          t->heap->processes[place - 1]->state->infos[i].bytes);
        free(s->slots[place].of);
        free(s->slots[place].freed.list);
    }
    leave_sampled(t, 0, HEAP_ENTRY_ALIVE);
    leave_mapped(t, 0, HEAP_ENTRY_ALIVE);
    heap_order_free(&t->order);
    t->log.count = heap_entry_merge(t->log.list, t->log.count);
    t->mapped.count = heap_entry_merge(t->mapped.list, t->mapped.count);
    heap_mapped_runs_free(&s->mapped);
    free(s->slots);
    free(s->runs.list);
    free(s->latest);
}

void heap_entries_free(struct heap_entries *t)
{
    if (!t->pass)
        return;
    intmap_free(&t->pass->owners);
    free(t->owners);
    free(t->log.list);
    free(t->mapped.list);
    free(t->pass);
    *t = (struct heap_entries){0};
}
