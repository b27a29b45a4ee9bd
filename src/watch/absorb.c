/* absorb - see absorb.h: allocations and frees. The rarer records are in notes.c.
 *
 * A FREE is recorded before and an ALLOC after the real call, so on one address they alternate in
 * truth. The rings of a process are read tick by tick, but within a tick one after the other, so two
 * threads' records of it may come in the wrong order. Therefore, in a program with threads, a FREE of
 * a block that is not the thread's own waits for the end of the tick, when every ALLOC before it was
 * seen. And an ALLOC that meets a living block ends that one: its FREE is owed, and is among those
 * that wait; if it is not, the two came in the other order, and the block that was ended lives. So
 * every block is counted once and freed once; what remains open is which of two blocks came first
 * that shared an address within a tick.
 */
#include "watch/absorb.h"

#include "base/memory.h"
#include "watch/notes.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD 12       /* words: far enough for memory to answer */
#define LINES_AHEAD 48 /* the same for the ring itself, which is in the other CPU's cache */

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

void absorb_flush(struct absorb *a, struct absorb_process *p)
{
    static unsigned char tail[BATCH_TAIL_MOST];
    struct batch *b = p->batch;
    struct trace_batch fields;
    size_t size;

    if (!b || !b->events)
        return;
    stackmap_flush(&a->stackmap, a->store);
    infos_flush(&p->infos, p->number, a->store);
    size = batch_close(b, tail);
    fields = (struct trace_batch){p->number, b->events, b->last_ns - b->start_ns};
    if (a->store)
        trace_store_put(a->store, TRACE_BATCH, b->last_ns, (const uint64_t *)&fields, 3, tail,
                        size);
    batch_reset(b, b->last_ns);
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

static inline void end_block(struct absorb *a, struct absorb_ring *r, const struct block *block)
{
    struct absorb_process *p = r->process;
    uint64_t lived = (uint64_t)(units(r->tick) - block->birth) * BLOCK_TIME;
    struct trace_free fields = {r->thread, block->address, 0};

    if (block->info == ABSORB_SAMPLED) {
        p->counts.frees++;
        if (a->store)
            trace_store_put(a->store, TRACE_FREE, r->tick, (const uint64_t *)&fields, 3, NULL, 0);
        return;
    }
    if (units(r->tick) < block->birth)
        lived = 0;
    batch_free(batch_of(a, r), block->info,
               batch_fate(is_of(block, r), r->order - block->order, lived));
    p->counts.frees++;
    p->counts.live_bytes -= p->infos.bytes[block->info];
    p->counts.live_blocks--;
}

static void owe(struct absorb_process *p, const struct block *block)
{
    struct block *owed = blocks_add(&p->owed, block->address);
    uint32_t count = owed->info ? owed->owed : 0;

    *owed = *block;
    owed->owed = count + 1;
}

static inline void alloc(struct absorb *a, struct absorb_ring *r, uint64_t address, uint32_t stack,
                         uint64_t bytes, unsigned int origin)
{
    struct absorb_process *p = r->process;
    uint32_t info = infos_find(&p->infos, stack, bytes);
    struct block *block = blocks_add(&p->blocks, address);

    if (!info)
        info = infos_add(&p->infos, stack, bytes, stackmap_stack(&p->stacks, stack), origin);
    r->order++;
    count_alloc(p, bytes);
    if (block->info) {
        end_block(a, r, block);
        owe(p, block);
    }
    batch_alloc(batch_of(a, r), info);
    block->info = info;
    block->thread = r->thread & 0xffff;
    block->order = r->order;
    block->birth = units(r->tick);
}

static void free_now(struct absorb *a, struct absorb_ring *r, uint64_t address, struct block *block)
{
    struct absorb_process *p = r->process;

    if (!block) { /* it is older than the recording */
        p->counts.unknown_frees++;
        batch_free(batch_of(a, r), 0, 0xff);
        return;
    }
    end_block(a, r, block);
    r->freed = address;
    r->freed_info = block->info;
    r->freed_thread = block->thread;
    r->freed_order = block->order;
    r->freed_birth = block->birth;
    blocks_remove(&p->blocks, block);
}

static void defer(struct absorb_process *p, struct absorb_ring *r, uint64_t address)
{
    if (p->deferred_count == p->deferred_room) {
        p->deferred_room = p->deferred_room ? p->deferred_room * 2 : 64;
        p->deferred = memory_resize(p->deferred, p->deferred_room * sizeof(*p->deferred));
    }
    p->deferred[p->deferred_count++] = (struct absorb_deferred){address, r};
}

static void free_block(struct absorb *a, struct absorb_ring *r, uint64_t address)
{
    struct absorb_process *p = r->process;
    struct block *block = blocks_find(&p->blocks, address);

    r->freed = 0;
    if (p->threaded && (!block || !is_of(block, r)))
        defer(p, r, address);
    else
        free_now(a, r, address, block);
}

/* The block was ended, but its free has not come. */
static void revive(struct absorb *a, struct absorb_ring *r, const struct block *owed)
{
    struct absorb_process *p = r->process;

    if (blocks_find(&p->blocks, owed->address))
        return; /* the address was used again, so there was a free: it is lost */
    *blocks_add(&p->blocks, owed->address) = *owed;
    if (owed->info == ABSORB_SAMPLED)
        return;
    batch_unfree(batch_of(a, r), owed->info);
    p->counts.frees--;
    p->counts.live_blocks++;
    p->counts.live_bytes += p->infos.bytes[owed->info];
}

void absorb_tick_end(struct absorb *a, struct absorb_ring *r)
{
    struct absorb_process *p = r->process;

    for (size_t i = 0; i < p->deferred_count; i++) {
        struct absorb_deferred *d = &p->deferred[i];
        struct block *owed = p->owed.count ? blocks_find(&p->owed, d->address) : NULL;

        if (!owed)
            free_now(a, d->ring, d->address, blocks_find(&p->blocks, d->address));
        else if (--owed->owed == 0)
            blocks_remove(&p->owed, owed);
    }
    p->deferred_count = 0;
    if (!p->owed.count)
        return;
    for (size_t i = 0; i <= p->owed.mask; i++) {
        if (p->owed.table[i].info)
            revive(a, r, &p->owed.table[i]);
    }
    blocks_free(&p->owed);
}

/* A free that waits is taken back. */
static void undefer(struct absorb_ring *r, uint64_t address)
{
    struct absorb_process *p = r->process;

    for (size_t i = p->deferred_count; i-- > 0;) {
        if (p->deferred[i].ring != r || p->deferred[i].address != address)
            continue;
        p->deferred[i] = p->deferred[--p->deferred_count];
        return;
    }
}

static void unfree(struct absorb *a, struct absorb_ring *r, uint64_t address)
{
    struct absorb_process *p = r->process;
    struct block *block;

    if (!address || r->freed != address) {
        undefer(r, address);
        return;
    }
    block = blocks_add(&p->blocks, address);
    block->info = r->freed_info;
    block->thread = r->freed_thread & 0xffff;
    block->order = r->freed_order;
    block->birth = r->freed_birth;
    r->freed = 0;
    if (block->info == ABSORB_SAMPLED)
        return;
    batch_unfree(batch_of(a, r), block->info);
    p->counts.frees--;
    p->counts.live_blocks++;
    p->counts.live_bytes += p->infos.bytes[block->info];
}

/* One record at w; how many words it has, 0 when it is none that we know. */
static uint64_t take(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    unsigned int aux = (unsigned int)(first >> 5) & 0x7ff;
    uint64_t address = first >> 16;

    switch (first & 31) {
    case RING_FREE:
        free_block(a, r, address);
        return 1;
    case RING_ALLOC:
        alloc(a, r, address, (uint32_t)(w[1] >> 32), w[1] & UINT32_MAX, aux);
        return 2;
    case RING_ALLOC_BIG:
        alloc(a, r, address, (uint32_t)w[1], w[2], aux);
        return 3;
    case RING_UNFREE:
        unfree(a, r, address);
        return 1;
    default:
        return notes_take(a, r, w, first);
    }
}

/* The block that is asked for soon. A word is guessed to be a first one by its kind: no harm if not.
 * (Prefetching in here would make this a function without effect, which the compiler leaves out.)
 */
static inline const void *soon(const struct absorb_ring *r)
{
    const struct blocks *b = &r->process->blocks;
    uint64_t word = r->words[(r->at + AHEAD) % RING_WORDS];

    if (b->table && ((word & 31) == RING_FREE || (word & 31) == RING_ALLOC))
        return &b->table[blocks_home(b, word >> 16)];
    return r;
}

uint64_t absorb_ring(struct absorb *a, struct absorb_ring *r, uint64_t until)
{
    uint64_t from = r->at;

    if (r->unmapped)
        notes_unmap(a, r);
    while (r->tick <= until) {
        uint64_t *w = r->words + r->at % RING_WORDS;
        uint64_t first = atomic_load_explicit((_Atomic uint64_t *)w, memory_order_acquire);
        uint64_t used;

        if (!first || r->at - from >= RING_WORDS / 4)
            break;
        __builtin_prefetch(&r->words[(r->at + LINES_AHEAD) % RING_WORDS], 1);
        __builtin_prefetch(soon(r), 1);
        if ((first & 31) == RING_TICK) {
            if (first >> 5 > r->tick)
                r->tick = first >> 5;
            used = 1;
        } else if ((first & 31) == RING_PAD) {
            used = RING_WORDS - r->at % RING_WORDS;
        } else {
            used = take(a, r, w, first);
            if (!used || used > RING_WORDS - r->at % RING_WORDS)
                break; /* scribbled over by the program: nothing after this can be believed */
        }
        for (uint64_t i = 0; i < used; i++)
            w[i] = 0;
        r->at += used;
    }
    return r->at - from;
}

void absorb_process_free(struct absorb *a, struct absorb_process *p)
{
    absorb_flush(a, p);
    free(p->batch);
    free(p->file);
    infos_free(&p->infos);
    blocks_free(&p->blocks);
    blocks_free(&p->owed);
    regions_free(&p->regions);
    free(p->deferred);
    p->deferred = NULL;
    p->deferred_count = p->deferred_room = 0;
    p->batch = NULL;
    p->file = NULL;
}
