/* absorb - see absorb.h: allocations and frees. The rarer records are in notes.c.
 *
 * A FREE is recorded before and an ALLOC after the real call, so on one address they alternate in
 * truth. The rings of a process are read tick by tick, but within a tick one after the other, so
 * two threads' records of it may come in the wrong order. Therefore, in a program with threads, a
 * FREE of a block that is not the thread's own waits for the end of the tick, when every ALLOC
 * before it was seen. And an ALLOC that meets a living block ends that one: its FREE is owed, and
 * is among those that wait; if it is not, the two came in the other order, and the block that was
 * ended lives. So every block is counted once and freed once; what remains open is which of two
 * blocks came first that shared an address within a tick.
 */
#include "collect/absorb.h"

#include "arch/arch.h"
#include "base/clock.h"
#include "base/memory.h"
#include "collect/notes.h"
#include "collect/spaces.h"
#include "collect/was_freed.h"

#include <stdlib.h>
#include <string.h>

/* What is kept of one process at most, so that none can take all memory: far more than programs
 * have. */
#define BLOCKS_BYTES_MOST (16ull << 30)
#define INFOS_MOST (1u << 25)
#define CONTEXT_INFOS_MOST                                                                         \
    (1u << 22)                  /* from here on no new contexts, each of which takes its own */
#define WAITING_MOST (1u << 24) /* frees, of one tick */
#define STACK_NODES_MOST (1u << 27)
#define CODES_MOST (1u << 22)
#define TEXT_MOST (1ull << 29)
#define MAPPED_MOST (1u << 20)
#define SPACE_HANDLES_MOST (1u << 24)

#define UNDEFER_NEAR                                                                               \
    64 /* a free is taken back right after it: no long search for one that is not there */
#define FUTURE_NS CLOCK_SECOND_NS
#define FREES_AHEAD 16
#define WORDS_AHEAD 48 /* of the ring, which is in the other CPU's cache */

/* On the way of every event: the compiler would not inline it, as it is called elsewhere as well.
 */
#define HOT inline __attribute__((always_inline))

static __attribute__((noinline)) struct batch *open_batch(struct absorb *a, struct absorb_ring *r)
{
    struct absorb_process *p = r->process;

    if (!p->batch) {
        p->batch = memory_resize(NULL, sizeof(*p->batch));
        batch_reset(p->batch, r->tick);
    }
    if (batch_full(p->batch) || r->tick - p->batch->start_ns > TRACE_BATCH_SPAN_MOST) {
        absorb_flush(a, p);
        batch_reset(p->batch, r->tick);
    }
    if (!p->batch->events && p->batch->start_ns != r->tick)
        batch_reset(p->batch, r->tick);
    batch_at(p->batch, r->thread, r->tick);
    return p->batch;
}

/* The process's batch, open for events of this ring at its tick. */
static inline struct batch *batch_of(struct absorb *a, struct absorb_ring *r)
{
    struct batch *b = r->process->batch;

    if (b && b->run_ns == r->tick && b->thread == r->thread && b->events && !batch_full(b))
        return b;
    return open_batch(a, r);
}

static uint32_t units(uint64_t tick)
{
    return (uint32_t)(tick / BLOCK_TIME);
}

static void count_alloc(struct absorb_process *p, uint64_t bytes)
{
    struct absorb_counts *c = &p->counts;

    c->allocs++;
    c->bytes += bytes;
    c->live_bytes += bytes;
    c->live_blocks++;
    if (c->live_bytes > c->peak_bytes)
        c->peak_bytes = c->live_bytes;
}

static bool is_of(const struct block *block, const struct absorb_ring *r)
{
    return block->thread == (r->thread & 0xffff);
}

static __attribute__((noinline)) void end_sample(struct absorb *a, struct absorb_ring *r,
                                                 uint64_t address, bool at_once)
{
    struct trace_free fields = {r->thread, address, 0, at_once ? 0 : TRACE_LATER_MANY};

    r->process->counts.frees++;
    if (a->store)
        trace_store_put(a->store, TRACE_FREE, r->tick, (const uint64_t *)&fields, 4, NULL, 0);
}

static HOT void end_block(struct absorb *a, struct absorb_ring *r, uint64_t address,
                          const struct block *block, bool at_once)
{
    struct absorb_process *p = r->process;
    uint32_t now = units(r->tick);
    uint64_t lived = now < block->birth ? 0 : (uint64_t)(now - block->birth) * BLOCK_TIME;

    if (block->info == ABSORB_SAMPLED) {
        end_sample(a, r, address, at_once);
        return;
    }
    batch_free(batch_of(a, r), block->info,
               batch_fate(is_of(block, r), r->order - block->order, lived));
    p->counts.frees++;
    p->counts.live_bytes -= p->infos.bytes[block->info];
    p->counts.live_blocks--;
}

static __attribute__((noinline)) uint32_t new_info(struct absorb_process *p,
                                                   const struct infos_key *key, unsigned int origin)
{
    p->infos.stale = p->contexts.current;
    p->contexts.full = p->infos.count >= CONTEXT_INFOS_MOST;
    return infos_add(&p->infos, key, stackmap_stack(&p->stacks, key->stack), origin);
}

static HOT void alloc(struct absorb *a, struct absorb_ring *r, uint64_t first, uint32_t stack,
                      uint64_t bytes)
{
    struct absorb_process *p = r->process;
    uint64_t address = first >> 16;
    struct infos_key key = {bytes, stack,
                            contexts_of(&p->contexts, &r->labels, &a->contexts, a->store)};
    uint32_t info = infos_find(&p->infos, &key);
    struct block *block = blocks_add(&p->blocks, address);

    if (!info)
        info = new_info(p, &key, (unsigned int)(first >> 5) & 0x7ff);
    if ((first >> 5 & 0x7ff) == RING_BY_POOL)
        notes_pool(a, r, address);
    r->order++;
    count_alloc(p, bytes);
    if (block->info) {
        end_block(a, r, address, block, false);
        owed_add(&p->owed, address, block);
    }
    batch_alloc(batch_of(a, r), info);
    block->info = info;
    block->thread = r->thread & 0xffff;
    block->order = r->order;
    block->birth = units(r->tick);
    if (bytes >= LARGE_BYTES)
        large_add(&p->large, &p->blocks,
                  (struct large_block){address, bytes, stackmap_stack(&p->stacks, stack),
                                       block->order, block->birth});
}

static HOT void free_now(struct absorb *a, struct absorb_ring *r, uint64_t address,
                         struct block *block, bool at_once)
{
    struct absorb_process *p = r->process;

    if (!block) { /* it is older than the recording */
        p->counts.unknown_frees++;
        batch_free(batch_of(a, r), 0, 0xff);
        return;
    }
    end_block(a, r, address, block, at_once);
    r->freed = address;
    r->freed_block = *block;
    blocks_remove(block);
}

static void defer(struct absorb_process *p, struct absorb_ring *r, uint64_t address)
{
    memory_fit(p->deferred, p->deferred_room, p->deferred_count + 1);
    p->deferred[p->deferred_count++] = (struct absorb_deferred){address, r};
}

static HOT void free_block(struct absorb *a, struct absorb_ring *r, uint64_t first)
{
    struct absorb_process *p = r->process;
    uint64_t address = first >> 16;
    struct block *block = blocks_find(&p->blocks, address);

    r->freed = 0;
    if (p->threaded && (!block || !is_of(block, r)))
        defer(p, r, address);
    else
        free_now(a, r, address, block, first & (RING_AT_ONCE << 5));
}

/* Its end was told already: a large one is told of anew. */
static void revive_sample(struct absorb *a, struct absorb_ring *r, uint64_t address,
                          const struct block *block)
{
    const struct large *l = &r->process->large;

    r->process->counts.frees--;
    for (size_t i = l->count; a->store && i-- > 0;) {
        const struct large_block *b = &l->list[i];
        struct trace_alloc fields = {r->thread,        address, b->bytes, b->stack,
                                     TRACE_BY_REALLOC, 0,       0};

        if (b->address != address || b->order != block->order || b->birth != block->birth)
            continue;
        trace_store_put(a->store, TRACE_ALLOC, r->tick, (const uint64_t *)&fields, 6, NULL, 0);
        return;
    }
}

/* The block lives after all: put it back, and take back what was said of its end. */
static void revive(struct absorb *a, struct absorb_ring *r, uint64_t address,
                   const struct block *block)
{
    struct absorb_process *p = r->process;

    *blocks_add(&p->blocks, address) = *block;
    if (block->info == ABSORB_SAMPLED) {
        revive_sample(a, r, address, block);
        return;
    }
    batch_unfree(batch_of(a, r), block->info);
    p->counts.frees--;
    p->counts.live_blocks++;
    p->counts.live_bytes += p->infos.bytes[block->info];
}

void absorb_tick_end(struct absorb *a, struct absorb_ring *r)
{
    struct absorb_process *p = r->process;

    if (p->spaces.pending_count)
        spaces_settle(a, p);
    for (size_t i = 0; i < p->deferred_count; i++) {
        struct absorb_deferred *d = &p->deferred[i];

        if (!owed_settle(&p->owed, d->address))
            free_now(a, d->ring, d->address, blocks_find(&p->blocks, d->address), false);
    }
    p->deferred_count = 0;
    for (size_t i = 0; i < p->owed.count; i++) {
        const struct owed_block *o = &p->owed.list[i];

        /* If the address is in use again, there was a free: it is lost. */
        if (o->frees && !blocks_find(&p->blocks, o->address))
            revive(a, r, o->address, &o->block);
    }
    if (p->owed.count)
        owed_free(&p->owed);
    was_freed_tell(a, p);
}

/* A free that waits is taken back. */
static void undefer(struct absorb_ring *r, uint64_t address)
{
    struct absorb_process *p = r->process;

    for (size_t i = p->deferred_count, left = UNDEFER_NEAR; i-- > 0 && left-- > 0;) {
        if (p->deferred[i].ring != r || p->deferred[i].address != address)
            continue;
        p->deferred[i] = p->deferred[--p->deferred_count];
        return;
    }
}

static void unfree(struct absorb *a, struct absorb_ring *r, uint64_t address)
{
    if (!address || r->freed != address) {
        undefer(r, address);
        return;
    }
    revive(a, r, address, &r->freed_block);
    r->freed = 0;
}

/* A time that has not come yet would keep the ring from being read. */
static void take_tick(const struct absorb *a, struct absorb_ring *r, uint64_t tick)
{
    if (a->now_ns && tick > a->now_ns + FUTURE_NS)
        tick = a->now_ns;
    if (tick > r->tick)
        r->tick = tick;
}

static bool is_beyond(const struct absorb *a, const struct absorb_process *p)
{
    return p->blocks.slab.bytes > BLOCKS_BYTES_MOST || p->infos.count > INFOS_MOST ||
           p->deferred_count > WAITING_MOST || p->owed.count > WAITING_MOST ||
           a->stackmap.tree.count > STACK_NODES_MOST || p->stacks.code_count > CODES_MOST ||
           p->text_bytes > TEXT_MOST || p->mappings.count > MAPPED_MOST ||
           p->spaces.places.used > SPACE_HANDLES_MOST;
}

/* Any record but the two frequent ones, where the ring has `left` words to its end; how many words
 * it has, 0 when it is none that we know.
 */
static __attribute__((noinline)) uint64_t take(struct absorb *a, struct absorb_ring *r,
                                               const uint64_t *w, uint64_t first, uint64_t left)
{
    switch (first & 31) {
    case RING_TICK:
        take_tick(a, r, first >> 5);
        return 1;
    case RING_PAD:
        return left;
    case RING_ALLOC_BIG:
        if (left < 3)
            return 0;
        alloc(a, r, first, (uint32_t)w[1], w[2]);
        return 3;
    case RING_UNFREE:
        unfree(a, r, first >> 16);
        return 1;
    default:
        return notes_take(a, r, w, first, left);
    }
}

/* Fetch what a coming FREE will ask for: it may be of any block, while an ALLOC is most often next
 * to the last one, or where something was just freed. The word may be from the middle of a record,
 * or a writer may be changing it: that race can only make the guess useless.
 */
__attribute__((no_sanitize("thread"))) static inline void look_ahead(struct absorb_ring *r,
                                                                     uint64_t at)
{
    uint64_t word = r->words[at % RING_WORDS];

    if ((word & 31) == RING_FREE)
        arch_fetch_to_write(blocks_near(&r->process->blocks, word >> 16));
}

uint64_t absorb_ring(struct absorb *a, struct absorb_ring *r, uint64_t until)
{
    uint64_t from = r->at, end = from + RING_WORDS / 4;

    if (is_beyond(a, r->process)) {
        r->process->beyond = true;
        return 0;
    }
    if (r->unmapped)
        notes_unmap(a, r);
    while (r->tick <= until && r->at < end) {
        uint64_t *w = r->words + r->at % RING_WORDS, left = RING_WORDS - r->at % RING_WORDS;
        uint64_t first = atomic_load_explicit((_Atomic uint64_t *)w, memory_order_acquire);
        uint64_t used;

        arch_fetch_to_write(&r->words[(r->at + WORDS_AHEAD) % RING_WORDS]);
        if ((first & 31) == RING_FREE) {
            look_ahead(r, r->at + FREES_AHEAD);
            free_block(a, r, first);
            used = 1;
        } else if ((first & 31) == RING_ALLOC && left >= 2) {
            look_ahead(r, r->at + FREES_AHEAD);
            look_ahead(r, r->at + FREES_AHEAD + 1);
            alloc(a, r, first, (uint32_t)(w[1] >> 32), w[1] & UINT32_MAX);
            w[1] = 0;
            used = 2;
        } else {
            used = first ? take(a, r, w, first, left) : 0;
            if (!used)
                break; /* the end, or scribbled over: nothing after this can be believed */
            memset(w, 0, used * sizeof(*w));
        }
        w[0] = 0;
        r->at += used;
    }
    return r->at - from;
}

void absorb_process_free(struct absorb *a, struct absorb_process *p)
{
    spaces_settle(a, p);
    absorb_flush(a, p);
    free(p->batch);
    free(p->file);
    infos_free(&p->infos);
    blocks_free(&p->blocks);
    owed_free(&p->owed);
    regions_free(&p->regions);
    contexts_free(&p->contexts);
    mappings_free(&p->mappings);
    free(p->large.list);
    p->large = (struct large){0};
    space_blocks_free(&p->spaces);
    intmap_free(&p->op_names);
    free(p->deferred);
    was_freed_free(p);
    p->deferred = NULL;
    p->deferred_count = p->deferred_room = 0;
    p->batch = NULL;
    p->file = NULL;
}
