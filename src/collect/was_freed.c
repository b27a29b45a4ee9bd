/* was_freed - see was_freed.h.
 *
 * The table keeps the entry of a block that has died. Within a tick the rings of a process are read
 * one after the other, so another thread may have got the memory again: what is thought at the
 * watch must still hold, of the very same block, when the tick has ended.
 */
#include "collect/was_freed.h"

#include "base/memory.h"
#include "collect/put.h"

#include <stdlib.h>
#include <string.h>

#define SUSPECTS_MOST 1024 /* of one tick */

/* The dead block that began there; NULL: none is known. */
static const struct block *dead_at(struct blocks *b, uint64_t address)
{
    const struct blocks_group *g = b->groups ? blocks_group(b, (uint32_t)(address >> 16)) : NULL;
    const struct block *block = g && g->slots ? blocks_place(g, address & 0xffff) : NULL;

    return block && block->info == BLOCK_DEAD ? block : NULL;
}

static bool covers(const struct infos *infos, const struct block *block, uint64_t base,
                   uint64_t address)
{
    uint64_t start = base + block->offset;

    return block->info && block->info != BLOCK_DEAD && start <= address &&
           address - start < (block->info == ABSORB_SAMPLED ? block->birth /* its bytes */
                                                            : infos->bytes[block->info]);
}

static bool is_in_large(struct absorb_process *p, uint64_t address)
{
    for (size_t i = 0; i < p->large.count; i++) {
        const struct large_block *l = &p->large.list[i];
        const struct block *b = blocks_find(&p->blocks, l->address);

        if (b && b->order == l->order && b->birth == l->birth && l->address <= address &&
            address - l->address < l->bytes)
            return true;
    }
    return false;
}

/* Does a block live there? Those that are not large begin less than LARGE_BYTES before. */
static bool is_in_block(struct absorb_process *p, uint64_t address)
{
    uint32_t last = (uint32_t)(address >> 16), span = (uint32_t)(LARGE_BYTES >> 16);

    for (uint32_t n = last > span ? last - span : 0; n <= last; n++) {
        const struct blocks_group *g = blocks_group(&p->blocks, n);

        for (uint32_t i = 0; g->slots && i < g->entries; i++)
            if (covers(&p->infos, &g->slots[i], (uint64_t)n << 16, address))
                return true;
    }
    return is_in_large(p, address);
}

static bool is_of_arena(const struct absorb_process *p, uint64_t address)
{
    const struct mapping *m = mappings_find(&p->mappings, p->number, address);

    return !m || m->kind == TRACE_MMAP_ARENA;
}

/* Would a block that has got all of this memory since be known? */
static bool would_know(const struct absorb *a, const struct absorb_process *p,
                       const struct block *block, uint64_t bytes)
{
    uint64_t from = p->whole.from ? p->whole.from : a->whole_from;

    return !p->gaps &&
           (!p->counts.samples || (from && bytes >= from && block->order >= p->whole.since));
}

void was_freed_limit(const struct absorb *a, struct absorb_process *p, uint64_t from, bool anew)
{
    uint64_t before = p->whole.from ? p->whole.from : a->whole_from;

    p->whole.from = !anew && before > from ? before : from;
    if (anew)
        p->whole.since = (uint32_t)p->counts.samples;
}

void was_freed_ask(const struct absorb *a, struct absorb_ring *r, uint64_t address, uint64_t bytes)
{
    struct absorb_process *p = r->process;
    const struct block *block = dead_at(&p->blocks, address);

    if (!block || p->suspect_count == SUSPECTS_MOST || !would_know(a, p, block, bytes))
        return;
    memory_fit(p->suspects, p->suspect_room, p->suspect_count + 1);
    p->suspects[p->suspect_count++] = (struct absorb_suspect){address, r->tick, r->thread, *block};
}

static bool holds(struct absorb_process *p, const struct absorb_suspect *s)
{
    const struct block *block = dead_at(&p->blocks, s->address);

    return block && memcmp(block, &s->block, sizeof(*block)) == 0 && is_of_arena(p, s->address) &&
           !is_in_block(p, s->address);
}

void was_freed_tell(struct absorb *a, struct absorb_process *p)
{
    for (size_t i = 0; i < p->suspect_count; i++) {
        const struct absorb_suspect *s = &p->suspects[i];
        struct trace_watch fields = {s->thread, s->address, TRACE_WATCH_DEAD, 0, 0, 0};

        if (holds(p, s))
            put_record(a, TRACE_WATCH, s->time_ns, &fields, 6);
    }
    p->suspect_count = 0;
}

void was_freed_free(struct absorb_process *p)
{
    free(p->suspects);
    p->suspects = NULL;
    p->suspect_count = p->suspect_room = 0;
}
