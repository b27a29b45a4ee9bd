/* heap_entries_exact - the blocks of exact recordings; see heap_entries.h. An info has its living
 * blocks as runs: so many of one cell and owner, the newest first. Those that die in the cell of
 * their birth, which most do, are counted beside and written down when the cell is over.
 */
#include "model/heap_entries_pass.h"

#include "base/memory.h"
#include "model/heap_replay.h"

#include <stdlib.h>

#define TICK_NS 4000000u /* times are known to a tick of the collector */

struct taking { /* what one thread did at one time */
    struct heap_entries *entries;
    const struct heap_order_event *run;
    struct heap_entries_slots *slots;
    struct heap_entries_latest *latest;
    const struct heap_info *infos;
};

/* Where the event is that is taken. */
static struct heap_cell cell_of(const struct heap_entries_pass *s)
{
    return (struct heap_cell){s->coarse[s->cell], s->cell};
}

/* ---- who has it ---- */

static struct heap_entries_slots *slots_of(struct heap_entries_pass *s, uint32_t place,
                                           size_t infos)
{
    memory_fit_zeroed(s->slots, s->slots_room, (size_t)place + 1);
    memory_fit_zeroed(s->slots[place].of, s->slots[place].room, infos + 1);
    return &s->slots[place];
}

static struct heap_entries_latest *latest_of(struct heap_entries *t, uint64_t number)
{
    struct heap_entries_pass *s = t->pass;
    const struct threads_thread *thread = threads_find(t->heap->threads, number);
    size_t place = thread ? thread->place + 1 : 0;

    memory_fit_zeroed(s->latest, s->latest_room, place + 1);
    return &s->latest[place];
}

static uint32_t owner_of(const struct taking *k, const struct batch_event *b, uint32_t info)
{
    struct heap_entries *t = k->entries;
    struct heap_entries_slot *slot = &k->slots->of[info];
    uint64_t thread = k->run->thread;
    unsigned int labels = t->labels->count
                            ? heap_labels_of_info(t->labels, k->run->process->number, b->info)
                            : 0;

    if (!slot->owned || slot->thread != (uint32_t)thread || slot->labels != labels) {
        slot->owner = heap_entries_owner(t, k->infos[info].stack, thread, labels);
        slot->thread = (uint32_t)thread;
        slot->labels = labels;
        slot->owned = true;
    }
    return slot->owner;
}

static void note_latest(const struct taking *k, uint32_t info, uint32_t owner)
{
    uint32_t at = k->latest->count++ % HEAP_ENTRIES_LATEST;

    k->latest->of[at].info = info;
    k->latest->of[at].owner = owner;
    k->latest->of[at].cell = cell_of(k->entries->pass);
}

static void take_alloc(const struct taking *k, const struct batch_event *b, uint32_t info)
{
    struct heap_entries_pass *s = k->entries->pass;
    uint32_t owner = info ? owner_of(k, b, info) : 0;

    if (info)
        heap_runs_add(&s->runs, &k->slots->of[info].run, owner, cell_of(s));
    note_latest(k, info, owner);
}

/* ---- which block ---- */

/* The oldest of some cells, of the thread that frees it if there is one. */
static uint32_t *find_aged(const struct taking *k, struct heap_entries_slot *slot, uint16_t from,
                           uint16_t to)
{
    struct heap_run *list = k->entries->pass->runs.list;
    uint32_t *any = NULL, *own = NULL;

    for (uint32_t *link = &slot->run; *link && list[*link].cell >= from; link = &list[*link].next) {
        if (list[*link].cell > to)
            continue;
        any = link;
        own = k->entries->owners[list[*link].owner].thread == k->run->thread ? link : own;
    }
    return own ? own : any;
}

/* The cells of the coarse grid that a block of that age may be of, and the first fine one. */
static void find_ages(const struct taking *k, unsigned int lived, uint16_t *from, uint16_t *to,
                      uint16_t *likely)
{
    const struct heap_edges *g = k->entries->edges;
    struct heap_entries_pass *s = k->entries->pass;
    uint16_t now = s->coarse[s->cell];
    uint64_t from_ns, to_ns;

    if (s->age_ns != k->run->time_ns)
        for (int i = 0; i < HEAP_LIVED_CLASSES; i++)
            s->ages[i].known = false;
    s->age_ns = k->run->time_ns;
    if (!s->ages[lived].known) {
        struct heap_change c = {.info = 1, .time_ns = k->run->time_ns, .lived = lived};

        heap_replay_born(&c, &from_ns, &to_ns);
        from_ns -= from_ns < TICK_NS ? from_ns : TICK_NS;
        to_ns += TICK_NS;
        s->ages[lived].from = (uint16_t)heap_edges_coarse_cell(g, from_ns);
        s->ages[lived].to = (uint16_t)heap_edges_coarse_cell(g, to_ns);
        s->ages[lived].likely = (uint16_t)heap_edges_cell(g, from_ns);
        s->ages[lived].known = true;
    }
    *likely = s->ages[lived].likely;
    *from = s->ages[lived].from;
    *to = s->ages[lived].to < now ? s->ages[lived].to : now;
    *from = *from < *to ? *from : *to;
}

/* The run of the block that a free is of, and the cell where it may have been born. */
static uint32_t *find_block(const struct taking *k, const struct batch_event *b, uint32_t info,
                            uint16_t *likely)
{
    struct heap_entries *t = k->entries;
    struct heap_entries_pass *s = t->pass;
    struct heap_entries_slot *slot = &k->slots->of[info];
    const struct heap_entries_latest *l = k->latest;
    uint32_t at = (l->count - 1 - b->later_allocs) % HEAP_ENTRIES_LATEST, *link = NULL;
    uint16_t from, to;

    *likely = l->of[at].cell.fine;
    if (b->later_allocs < TRACE_LATER_MANY && l->count > b->later_allocs && l->of[at].info == info)
        link = heap_runs_named(&s->runs, &slot->run, l->of[at].owner, l->of[at].cell.coarse);
    t->pairing.named += link != NULL;
    if (link)
        return link;
    find_ages(k, b->lived, &from, &to, likely);
    link = find_aged(k, slot, from, to);
    t->pairing.aged += link != NULL;
    t->pairing.ambiguous += link != NULL && from != to && s->runs.list[slot->run].next;
    if (link)
        return link;
    t->pairing.fallback++;
    return find_aged(k, slot, 0, s->coarse[s->cell]);
}

/* ---- it dies ---- */

static void end_brief(struct heap_entries *t, struct heap_entries_slot *slot, uint64_t bytes)
{
    struct heap_entry e = {slot->brief_owner, slot->brief_cell, slot->brief_cell,
                           (int64_t)slot->brief * t->pass->unit, (int64_t)(slot->brief * bytes)};

    if (slot->brief)
        heap_entry_put(&t->log, &e);
    slot->brief = 0;
}

static void die(const struct taking *k, uint32_t info, uint32_t owner, struct heap_cell birth)
{
    struct heap_entries *t = k->entries;
    struct heap_entries_slot *slot = &k->slots->of[info];
    uint16_t cell = t->pass->cell;
    uint64_t bytes = k->infos[info].bytes;
    struct heap_entry e = {owner, birth.fine, cell, t->pass->unit, (int64_t)bytes};

    heap_freed_note(&k->slots->freed, (struct heap_freed_one){info, owner, birth, cell});
    if (birth.fine != cell) {
        heap_entry_put(&t->log, &e);
        return;
    }
    if (slot->brief_cell != cell || slot->brief_owner != owner)
        end_brief(t, slot, bytes);
    slot->brief_cell = cell;
    slot->brief_owner = owner;
    slot->brief++;
}

static void take_free(const struct taking *k, const struct batch_event *b, uint32_t info)
{
    struct heap_entries_pass *s = k->entries->pass;
    uint16_t likely = 0;
    uint32_t *link = k->slots->of[info].run ? find_block(k, b, info, &likely) : NULL;
    uint32_t owner;

    if (!link)
        return;
    owner = s->runs.list[*link].owner;
    die(k, info, owner, heap_runs_take(&s->runs, link, likely));
}

/* A block that its thread frees at once is never among those that live. */
static void take_brief(const struct taking *k, const struct batch_event *b, uint32_t info)
{
    uint32_t owner = owner_of(k, b, info);

    note_latest(k, info, owner);
    k->entries->pairing.named++;
    die(k, info, owner, cell_of(k->entries->pass));
}

/* A free is taken back. */
static void take_unfree(const struct taking *k, const struct batch_event *b, uint32_t info)
{
    struct heap_entries *t = k->entries;
    struct heap_entries_pass *s = t->pass;
    struct heap_freed_one *f = heap_freed_find(&k->slots->freed, info);
    uint32_t *run = &k->slots->of[info].run;

    if (f) {
        int64_t bytes = (int64_t)k->infos[info].bytes;
        struct heap_entry undo = {f->owner, f->birth.fine, f->death, -s->unit, -bytes};

        heap_entry_put(&t->log, &undo);
        heap_runs_add(&s->runs, run, f->owner, f->birth);
        f->info = 0;
    } else {
        t->pairing.fallback++;
        heap_runs_add(&s->runs, run, owner_of(k, b, info), cell_of(s));
    }
}

/* ---- runs ---- */

/* How many events are of the cell that the next is in. */
static size_t in_cell(struct heap_entries *t, uint64_t ordinal, size_t count)
{
    const struct heap_edges *g = t->edges;
    uint64_t left;

    heap_entries_move(t, ordinal);
    if (t->pass->cell + 1 >= g->count)
        return count;
    left = g->list[t->pass->cell].after - ordinal + 1;
    return left < count ? (size_t)left : count;
}

static void take_events(const struct taking *k, const struct batch_event *b,
                        const struct batch_event *end)
{
    const struct heap_state *state = k->run->process->state;

    for (; b < end; b++) {
        uint32_t info = heap_info_known(state, b->info);

        if (b->op == BATCH_ALLOC && info && b + 1 < end && b[1].op == BATCH_FREE &&
            b[1].info == b->info && !b[1].later_allocs)
            take_brief(k, b++, info);
        else if (b->op == BATCH_ALLOC)
            take_alloc(k, b, info);
        else if (info && b->op == BATCH_FREE)
            take_free(k, b, info);
        else if (info)
            take_unfree(k, b, info);
    }
}

void heap_entries_run(struct heap_entries *t, const struct heap_order_event *e)
{
    const struct heap_state *state = e->process->state;
    const struct taking k = {t, e, slots_of(t->pass, e->place, state->info_count),
                             latest_of(t, e->thread), state->infos};
    uint64_t first = e->ordinal - e->count + 1;

    for (size_t i = 0, n; i < e->count; i += n) {
        n = in_cell(t, first + i, e->count - i);
        take_events(&k, e->events + i, e->events + i + n);
    }
}

/* ---- what is left ---- */

void heap_entries_leave(struct heap_entries *t, uint32_t place, uint16_t death)
{
    struct heap_entries_pass *s = t->pass;
    const struct heap_info *infos = place <= t->heap->process_count
                                      ? t->heap->processes[place - 1]->state->infos
                                      : NULL;

    for (size_t i = 1; infos && place < s->slots_room && i < s->slots[place].room; i++) {
        struct heap_entries_slot *slot = &s->slots[place].of[i];

        while (slot->run) {
            struct heap_entry e = {.owner = s->runs.list[slot->run].owner, .death = death};
            uint32_t count = heap_runs_take_all(&s->runs, &slot->run, &e.birth);

            e.count = count * s->unit;
            e.bytes = (int64_t)(count * infos[i].bytes);
            heap_entry_put(&t->log, &e);
        }
    }
}

void heap_entries_end_exact(struct heap_entries *t)
{
    struct heap_entries_pass *s = t->pass;

    for (uint32_t place = 1; place < s->slots_room; place++) {
        heap_entries_leave(t, place, HEAP_ENTRY_ALIVE);
        for (size_t i = 1; i < s->slots[place].room; i++)
            if (s->slots[place].of[i].brief)
                end_brief(t, &s->slots[place].of[i],
                          t->heap->processes[place - 1]->state->infos[i].bytes);
        free(s->slots[place].of);
        free(s->slots[place].freed.list);
    }
    free(s->slots);
    free(s->runs.list);
    free(s->latest);
}
