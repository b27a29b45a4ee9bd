/* heap_mapped_runs - see heap_mapped_runs.h. */
#include "model/heap_mapped_runs.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

static uint64_t key_of(uint32_t place, const struct mapping *p, uint32_t owner)
{
    return hash_mix(hash_mix(hash_mix(place, p->born_ns), owner), p->kind);
}

void heap_mapped_began(struct heap_mapped_runs *r, uint32_t place,
                       const struct heap_mapped_change *c, uint32_t owner, uint16_t cell)
{
    uint64_t key = key_of(place, &c->mapping, owner), before = 0;

    intmap_get(&r->last, key, &before);
    memory_fit(r->list, r->room, r->count + 1);
    r->list[r->count++] = (struct heap_mapped_run){
        c->change.bytes, c->change.milliblocks, before, place, owner, cell};
    intmap_put(&r->last, key, r->count);
}

/* A part of a run, or all of it: its blocks go with the last of its bytes. */
static void take(struct heap_mapped_run *run, uint64_t bytes, uint16_t death,
                 const struct heap_mapped_logs *to)
{
    bool last = bytes >= run->bytes;
    int64_t blocks = (int64_t)(run->milliblocks * (uint64_t)to->unit / 1000);
    struct heap_entry e = {run->owner, run->cell, death, last ? blocks : 0, (int64_t)bytes};

    run->bytes -= bytes;
    run->milliblocks = last ? 0 : run->milliblocks;
    heap_entry_put(to->all, &e);
    heap_entry_put(to->mapped, &e);
}

void heap_mapped_ended(struct heap_mapped_runs *r, uint32_t place,
                       const struct heap_mapped_change *c, uint32_t owner, uint16_t cell,
                       const struct heap_mapped_logs *to)
{
    uint64_t left = c->change.bytes, at = 0;

    intmap_get(&r->last, key_of(place, &c->mapping, owner), &at);
    while (left && at) {
        struct heap_mapped_run *run = &r->list[at - 1];
        uint64_t bytes = run->bytes < left ? run->bytes : left;

        if (bytes)
            take(run, bytes, cell, to);
        left -= bytes;
        if (!run->bytes)
            intmap_put(&r->last, key_of(place, &c->mapping, owner), run->before);
        at = run->before;
    }
}

void heap_mapped_leave(struct heap_mapped_runs *r, uint32_t place, uint16_t death,
                       const struct heap_mapped_logs *to)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].bytes && (!place || r->list[i].place == place))
            take(&r->list[i], r->list[i].bytes, death, to);
}

void heap_mapped_runs_free(struct heap_mapped_runs *r)
{
    free(r->list);
    intmap_free(&r->last);
    *r = (struct heap_mapped_runs){0};
}
