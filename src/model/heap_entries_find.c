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

/* Its thread has allocated it so few allocations ago that it is known. */
static bool find_named(const struct heap_entries_taking *k, struct heap_entries_slot *slot,
                       const struct batch_event *b, uint32_t info, struct heap_entries_found *f)
{
    const struct heap_entries_latest *l = k->latest;
    uint32_t at = (l->count - 1 - b->later_allocs) % HEAP_ENTRIES_LATEST;

    f->likely = l->of[at].cell.fine;
    if (b->later_allocs >= TRACE_LATER_MANY || l->count <= b->later_allocs ||
        l->of[at].info != info)
        return false;
    f->young = slot->young && l->of[at].cell.fine == slot->cell && l->of[at].owner == slot->owner;
    if (!f->young)
        f->link = heap_runs_named(&k->entries->pass->runs, &slot->run, l->of[at].owner,
                                  l->of[at].cell.coarse);
    return f->young || f->link;
}

/* There is a run besides the first: the block may be of another than the one that is taken. */
static bool has_several(const struct heap_entries_pass *s, const struct heap_entries_slot *slot)
{
    return slot->young ? slot->run != 0 : s->runs.list[slot->run].next != 0;
}

struct heap_entries_found heap_entries_find(const struct heap_entries_taking *k,
                                            struct heap_entries_slot *slot,
                                            const struct batch_event *b, uint32_t info)
{
    struct heap_pairing *pairing = &k->entries->pairing;
    const struct heap_entries_pass *s = k->entries->pass;
    struct heap_entries_found f = {0};
    uint16_t from, to;

    if (find_named(k, slot, b, info, &f)) {
        pairing->named++;
        return f;
    }
    find_ages(k, b->lived, &from, &to, &f.likely);
    if (find_aged(k, slot, from, to, &f)) {
        pairing->aged++;
        pairing->ambiguous += from != to && has_several(s, slot);
        return f;
    }
    pairing->fallback++;
    find_aged(k, slot, 0, s->coarse[s->cell], &f);
    return f;
}
