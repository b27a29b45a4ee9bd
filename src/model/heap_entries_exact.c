/* heap_entries_exact - the blocks of exact recordings; see heap_entries.h. An info has its living
 * blocks as runs: so many of one cell and owner, the newest first. Most die in the cell of their
 * birth: those of the cell and owner of the last allocation, dead or alive, are counted in the slot
 * of the info, and become an entry and a run when the cell is over.
 */
#include "model/heap_entries_pass.h"

#include "base/memory.h"

#include <stdlib.h>

/* Where the event is that is taken. */
static struct heap_cell cell_of(const struct heap_entries_pass *s)
{
    return (struct heap_cell){s->coarse[s->cell], s->cell};
}

/* ---- who has it ---- */

static void make_slots(struct heap_entries_slots *slots, const struct heap_state *state)
{
    slots->room = state->info_count + 1; /* all infos are known: there are no more of them */
    slots->of = memory_zeroed(slots->room * sizeof(*slots->of));
    for (size_t i = 1; i < slots->room; i++)
        slots->of[i].defined = state->infos[i].defined;
}

static struct heap_entries_slots *slots_of(struct heap_entries_pass *s, uint32_t place,
                                           const struct heap_state *state)
{
    memory_fit_zeroed(s->slots, s->slots_room, (size_t)place + 1);
    if (!s->slots[place].of)
        make_slots(&s->slots[place], state);
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

static void put_brief(const struct heap_entries_taking *k, const struct heap_entries_slot *slot,
                      uint32_t info)
{
    struct heap_entries *t = k->entries;
    struct heap_entry e = {slot->owner, slot->cell, slot->cell,
                           (int64_t)slot->brief * t->pass->unit,
                           (int64_t)(slot->brief * k->infos[info].bytes)};

    if (slot->brief)
        heap_entry_put(&t->log, &e);
}

/* Its blocks of one cell and owner are runs and entries, as others are. */
static void settle(const struct heap_entries_taking *k, struct heap_entries_slot *slot,
                   uint32_t info)
{
    struct heap_entries_pass *s = k->entries->pass;

    put_brief(k, slot, info);
    if (slot->young)
        heap_runs_add(&s->runs, &slot->run, slot->owner,
                      (struct heap_cell){s->coarse[slot->cell], slot->cell}, slot->young);
    slot->young = slot->brief = 0;
}

/* The blocks that live of the cell and owner that a slot is at. */
static void raise_young(struct heap_entries_pass *s, struct heap_entries_slot *slot)
{
    if (slot->run && !s->runs.finer)
        slot->young = heap_runs_take_first(&s->runs, &slot->run, slot->owner, slot->cell);
}

static void renew(const struct heap_entries_taking *k, struct heap_entries_slot *slot,
                  uint32_t info, unsigned int labels)
{
    uint32_t thread = (uint32_t)k->run->thread;

    settle(k, slot, info);
    if (!slot->owned || slot->thread != thread || slot->labels != labels)
        slot->owner = heap_entries_owner(k->entries, k->infos[info].stack, k->run->thread, labels);
    slot->thread = thread;
    slot->labels = (unsigned char)labels;
    slot->owned = true;
    slot->cell = k->entries->pass->cell;
    raise_young(k->entries->pass, slot);
}

/* The slot of an info, at the owner and the cell of an event. */
static inline struct heap_entries_slot *slot_at(const struct heap_entries_taking *k,
                                                const struct batch_item *b, uint32_t info)
{
    struct heap_entries *t = k->entries;
    struct heap_entries_slot *slot = &k->slots->of[info];
    unsigned int labels = t->labels->count
                            ? heap_labels_of_info(t->labels, k->run->process->number, b->info)
                            : 0;

    if (!slot->owned || slot->cell != t->pass->cell || slot->thread != (uint32_t)k->run->thread ||
        slot->labels != labels)
        renew(k, slot, info, labels);
    return slot;
}

static void note_latest(const struct heap_entries_taking *k, uint32_t info, uint32_t owner)
{
    uint32_t at = k->latest->count++ % HEAP_ENTRIES_LATEST;

    k->latest->of[at].info = info;
    k->latest->of[at].owner = owner;
    k->latest->of[at].cell = cell_of(k->entries->pass);
}

/* Where a stretch is told finer, a run has its cells: all are there. */
static void live(const struct heap_entries_taking *k, struct heap_entries_slot *slot)
{
    struct heap_entries_pass *s = k->entries->pass;

    if (s->runs.finer)
        heap_runs_add(&s->runs, &slot->run, slot->owner, cell_of(s), 1);
    else
        slot->young++;
}

static void take_alloc(const struct heap_entries_taking *k, const struct batch_item *b,
                       uint32_t info)
{
    struct heap_entries_slot *slot = info ? slot_at(k, b, info) : NULL;

    if (slot)
        live(k, slot);
    note_latest(k, info, slot ? slot->owner : 0);
}

/* ---- it dies ---- */

static void die(const struct heap_entries_taking *k, uint32_t info, uint32_t owner,
                struct heap_cell birth)
{
    struct heap_entries *t = k->entries;
    struct heap_entries_slot *slot = &k->slots->of[info];
    uint16_t cell = t->pass->cell;

    if (t->heap->unfreed)
        heap_freed_note(&k->slots->freed, (struct heap_freed_one){info, owner, birth, cell});
    if (birth.fine == cell && slot->cell == cell && slot->owner == owner) {
        slot->brief++;
    } else {
        struct heap_entry e = {owner, birth.fine, cell, t->pass->unit,
                               (int64_t)k->infos[info].bytes};

        heap_entry_put(&t->log, &e);
    }
}

static void take_free(const struct heap_entries_taking *k, const struct batch_item *b,
                      uint32_t info)
{
    struct heap_entries_pass *s = k->entries->pass;
    struct heap_entries_slot *slot = &k->slots->of[info];
    struct heap_entries_found f;

    if (!slot->run && !slot->young)
        return;
    f = heap_entries_find(k, slot, b, info);
    if (f.young) {
        slot->young--;
        die(k, info, slot->owner, (struct heap_cell){s->coarse[slot->cell], slot->cell});
    } else if (f.link) {
        uint32_t owner = s->runs.list[*f.link].owner;

        die(k, info, owner, heap_runs_take(&s->runs, f.link, f.likely));
    }
}

/* A free is taken back. */
static void take_unfree(const struct heap_entries_taking *k, const struct batch_item *b,
                        uint32_t info)
{
    struct heap_entries *t = k->entries;
    struct heap_entries_pass *s = t->pass;
    struct heap_freed_one *f = heap_freed_find(&k->slots->freed, info);
    struct heap_entries_slot *slot = &k->slots->of[info];

    if (f) {
        int64_t bytes = (int64_t)k->infos[info].bytes;
        struct heap_entry undo = {f->owner, f->birth.fine, f->death, -s->unit, -bytes};

        heap_entry_put(&t->log, &undo);
        settle(k, slot, info);
        heap_runs_add(&s->runs, &slot->run, f->owner, f->birth, 1);
        raise_young(s, slot);
        f->info = 0;
    } else {
        t->pairing.fallback++;
        live(k, slot_at(k, b, info));
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

static void take_any(const struct heap_entries_taking *k, const struct batch_item *b, uint32_t info)
{
    if (b->op == BATCH_ALLOC)
        take_alloc(k, b, info);
    else if (info && b->op == BATCH_FREE)
        take_free(k, b, info);
    else if (info)
        take_unfree(k, b, info);
}

/* Most events are of the cell and thread that the slot of their info is at, and most frees of a
 * block that was born there: false if this one is not.
 */
static inline bool take_young(const struct heap_entries_taking *k, struct heap_entries_slot *slot,
                              const struct batch_item *b, uint32_t info)
{
    if (slot->cell != k->entries->pass->cell)
        return false;
    if (b->op == BATCH_ALLOC) {
        if (!slot->owned || slot->thread != (uint32_t)k->run->thread)
            return false;
        slot->young++;
        note_latest(k, info, slot->owner);
        return true;
    }
    if (b->op != BATCH_FREE || !slot->young || !heap_entries_find_young(k, slot, b, info))
        return false;
    slot->young--;
    slot->brief++;
    return true;
}

/* As heap_info_known, but for the way to the info. */
static inline uint32_t info_of(const struct heap_entries_slots *slots,
                               const struct heap_state *state, uint32_t number)
{
    if (state->places)
        return heap_info_known(state, number);
    return number < slots->room && slots->of[number].defined ? number : 0;
}

static void take_events(const struct heap_entries_taking *k, const struct batch_item *b,
                        const struct batch_item *end)
{
    const struct heap_state *state = k->run->process->state;
    const struct heap_entries *t = k->entries;
    bool whole = !t->labels->count && !t->pass->runs.finer && !t->heap->unfreed;

    for (; b < end; b++) {
        uint32_t info = info_of(k->slots, state, b->info);

        if (b + HEAP_AHEAD < end && b[HEAP_AHEAD].info < k->slots->room)
            __builtin_prefetch(&k->slots->of[b[HEAP_AHEAD].info], 1);
        if (!info || !whole || !take_young(k, &k->slots->of[info], b, info))
            take_any(k, b, info);
    }
}

void heap_entries_run(struct heap_entries *t, const struct heap_order_event *e)
{
    const struct heap_state *state = e->process->state;
    const struct heap_entries_taking k = {t, e, slots_of(t->pass, e->place, state),
                                          latest_of(t, e->thread), state->infos};
    uint64_t first = e->ordinal - e->count + 1;

    for (size_t i = 0, n; i < e->count; i += n) {
        n = in_cell(t, first + i, e->count - i);
        take_events(&k, e->items + i, e->items + i + n);
    }
}

/* ---- what is left ---- */

void heap_entries_leave(struct heap_entries *t, uint32_t place, uint16_t death)
{
    struct heap_entries_pass *s = t->pass;
    const struct heap_entries_taking k = {.entries = t,
                                          .infos = place <= t->heap->process_count
                                                     ? t->heap->processes[place - 1]->state->infos
                                                     : NULL};

    for (size_t i = 1; k.infos && place < s->slots_room && i < s->slots[place].room; i++) {
        struct heap_entries_slot *slot = &s->slots[place].of[i];

        settle(&k, slot, (uint32_t)i);
        while (slot->run) {
            struct heap_entry e = {.owner = s->runs.list[slot->run].owner, .death = death};
            uint32_t count = heap_runs_take_all(&s->runs, &slot->run, &e.birth);

            e.count = count * s->unit;
            e.bytes = (int64_t)(count * k.infos[i].bytes);
            heap_entry_put(&t->log, &e);
        }
    }
}

void heap_entries_end_exact(struct heap_entries *t)
{
    struct heap_entries_pass *s = t->pass;

    for (uint32_t place = 1; place < s->slots_room; place++) {
        heap_entries_leave(t, place, HEAP_ENTRY_ALIVE);
        free(s->slots[place].of);
        free(s->slots[place].freed.list);
    }
    free(s->slots);
    free(s->runs.list);
    free(s->latest);
}
