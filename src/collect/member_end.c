/* member_end - see member_end.h. */
#include "collect/member_end.h"

#include "collect/blocked.h"
#include "collect/member_read.h"
#include "collect/native_code.h"
#include "collect/notes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void member_loss(struct collect *c, const struct member *m, enum trace_lost what, uint64_t count)
{
    static const char *const reasons[] = {
        [TRACE_LOST_FULL] = "allocations while a buffer was full",
        [TRACE_LOST_NESTED] = "allocations of a signal handler that interrupted an allocation",
        [TRACE_LOST_SLOTS] = "threads that found no free buffer",
        [TRACE_LOST_BROKEN] = "the rest of buffers that the program has overwritten",
        [TRACE_LOST_TORN] = "stacks without their Python lines, which were changing at that moment",
        [TRACE_LOST_UNREAD] = "buffers that could not be read, or that belong to no known process",
        [TRACE_LOST_BEYOND] = "the rest of what a process sent beyond what is kept of one",
        [TRACE_LOST_CONTEXTS] = "steps and labels of blocks, beyond what is kept",
    };
    struct trace_loss fields = {m ? m->process.number : 0, what, count, 0};

    if (c->absorb.store && count)
        trace_store_put(c->absorb.store, TRACE_LOSS, m ? m->process.last_ns : c->looked_ns,
                        (const uint64_t *)&fields, 3, reasons[what], strlen(reasons[what]));
}

static void release_slots(struct collect *c, struct member *m)
{
    struct absorb_counts *n = &m->process.counts;

    for (unsigned int i = 0; i < m->slot_count; i++) {
        uint32_t slot = m->slots[i];
        struct ring_slot *s = &c->rings.slots[slot];

        n->lost += atomic_load(&s->lost);
        n->nested += atomic_load(&s->nested);
        n->torn += atomic_load(&s->torn);
        n->broken += c->states[slot]->broken;
        if (c->states[slot]->tick > m->process.last_ns)
            m->process.last_ns = c->states[slot]->tick;
        notes_unmap(&c->absorb, c->states[slot]); /* its last record may be one */
        blocked_end(&c->absorb, c->states[slot], c->looked_ns);
        rings_release(&c->rings, slot, c->states[slot]->at, member_has_words(c->states[slot]));
        regions_free(&c->states[slot]->regions);
        free(c->states[slot]);
        c->states[slot] = NULL;
    }
    native_code_free(m->process.code);
    m->process.code = NULL;
    free(m->slots);
    m->slots = NULL;
    m->slot_count = m->slot_room = 0;
    member_loss(c, m, TRACE_LOST_FULL, n->lost);
    member_loss(c, m, TRACE_LOST_NESTED, n->nested);
    member_loss(c, m, m->process.beyond ? TRACE_LOST_BEYOND : TRACE_LOST_BROKEN, n->broken);
    member_loss(c, m, TRACE_LOST_TORN, n->torn);
    member_loss(c, m, TRACE_LOST_CONTEXTS, m->process.contexts.refused);
}

static void add_counts(struct absorb_counts *t, const struct absorb_counts *n)
{
    t->allocs += n->allocs;
    t->frees += n->frees;
    t->bytes += n->bytes;
    t->unknown_frees += n->unknown_frees;
    t->samples += n->samples;
    t->maps += n->maps;
    t->stacks += n->stacks;
    t->nested += n->nested;
    t->torn += n->torn;
    t->lost += n->lost;
    t->broken += n->broken;
    t->live_bytes += n->live_bytes;
    t->live_blocks += n->live_blocks;
    t->peak_bytes += n->peak_bytes;
}

void member_end(struct collect *c, struct member *m, bool outlived)
{
    struct trace_process_end fields = {m->process.number,
                                       outlived ? TRACE_END_OUTLIVED : TRACE_END_UNKNOWN, 0};

    member_read(c, m, UINT64_MAX);
    release_slots(c, m);
    absorb_process_free(&c->absorb, &m->process);
    add_counts(&c->absorb.totals, &m->process.counts);
    if (c->absorb.store && !c->absorb.silent)
        trace_store_put(c->absorb.store, TRACE_PROCESS_END, m->process.last_ns,
                        (const uint64_t *)&fields, 2, NULL, 0);
    if (m->pidfd >= 0)
        close(m->pidfd);
    if (!outlived)
        intmap_put(&c->ends, m->process.number, c->absorb.now_ns);
    m->ended = true;
    c->alive--;
}
