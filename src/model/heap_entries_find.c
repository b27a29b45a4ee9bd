/* heap_entries_find - which block a free is of; see heap_entries.h. */
#include "model/heap_entries_pass.h"

#include "model/heap_replay.h"

#define TICK_NS 4000000u /* times are known to a tick of the collector */

static bool is_own(const struct heap_entries_taking *k, uint32_t owner)
{
    return k->entries->owners[owner].thread == k->run->thread;
}

/* The oldest of some cells, of the thread that frees it if there is one. The young come first. */
static bool find_aged(const struct heap_entries_taking *k, struct heap_entries_slot *slot,
                      uint16_t from, uint16_t to, struct heap_entries_found *f)
{
    struct heap_run *list = k->entries->pass->runs.list;
    uint16_t cell = k->entries->pass->coarse[slot->cell];
    bool young = slot->young && cell >= from && cell <= to;
    uint32_t *any = NULL, *own = NULL;

    for (uint32_t *link = &slot->run; *link && list[*link].cell >= from; link = &list[*link].next) {
        if (list[*link].cell > to)
            continue;
        any = link;
        own = is_own(k, list[*link].owner) ? link : own;
    }
    f->link = own || (young && is_own(k, slot->owner)) ? own : any;
    f->young = young && !f->link;
    return f->link || f->young;
}

/* The cells of the coarse grid that a block of that age may be of, and the first fine one. */
static void find_ages(const struct heap_entries_taking *k, unsigned int lived, uint16_t *from,
                      uint16_t *to, uint16_t *likely)
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

/* Has its thread allocated it so few allocations ago that it is known? *at: where. */
static inline bool is_latest(const struct heap_entries_latest *l, const struct batch_item *b,
                             uint32_t info, uint32_t *at)
{
    uint32_t later = batch_later_allocs(b);

    *at = (l->count - 1 - later) % HEAP_ENTRIES_LATEST;
    return later < TRACE_LATER_MANY && l->count > later && l->of[*at].info == info;
}

static inline bool is_at(const struct heap_entries_slot *slot, const struct heap_entries_latest *l,
                         uint32_t at)
{
    return l->of[at].cell.fine == slot->cell && l->of[at].owner == slot->owner;
}

static bool find_named(const struct heap_entries_taking *k, struct heap_entries_slot *slot,
                       const struct batch_item *b, uint32_t info, struct heap_entries_found *f)
{
    uint32_t at;

    if (!is_latest(k->latest, b, info, &at))
        return false;
    f->likely = k->latest->of[at].cell.fine;
    f->young = slot->young && is_at(slot, k->latest, at);
    if (!f->young)
        f->link = heap_runs_named(&k->entries->pass->runs, &slot->run, k->latest->of[at].owner,
                                  k->latest->of[at].cell.coarse);
    return f->young || f->link;
}

/* There is a run besides the first: the block may be of another than the one that is taken. */
static bool has_several(const struct heap_entries_pass *s, const struct heap_entries_slot *slot)
{
    return slot->young ? slot->run != 0 : s->runs.list[slot->run].next != 0;
}

struct heap_entries_found heap_entries_find(const struct heap_entries_taking *k,
                                            struct heap_entries_slot *slot,
                                            const struct batch_item *b, uint32_t info)
{
    struct heap_pairing *pairing = &k->entries->pairing;
    const struct heap_entries_pass *s = k->entries->pass;
    struct heap_entries_found f = {0};
    uint16_t from, to;

    if (find_named(k, slot, b, info, &f)) {
        pairing->named++;
        return f;
    }
    find_ages(k, batch_lived(b), &from, &to, &f.likely);
    if (find_aged(k, slot, from, to, &f)) {
        pairing->aged++;
        pairing->ambiguous += from != to && has_several(s, slot);
        return f;
    }
    pairing->fallback++;
    find_aged(k, slot, 0, s->coarse[s->cell], &f);
    return f;
}

/* Of those of its age none may be in a run: the young come first, and runs by their cells. */
bool heap_entries_find_young(const struct heap_entries_taking *k,
                             const struct heap_entries_slot *slot, const struct batch_item *b,
                             uint32_t info)
{
    const struct heap_entries_pass *s = k->entries->pass;
    uint16_t cell = s->coarse[slot->cell], from, to, likely;
    uint32_t at;

    if (is_latest(k->latest, b, info, &at)) {
        bool young = is_at(slot, k->latest, at);

        k->entries->pairing.named += young;
        return young;
    }
    find_ages(k, batch_lived(b), &from, &to, &likely);
    if (cell < from || cell > to || (slot->run && s->runs.list[slot->run].cell >= from))
        return false;
    k->entries->pairing.aged++;
    k->entries->pairing.ambiguous += from != to && slot->run;
    return true;
}
