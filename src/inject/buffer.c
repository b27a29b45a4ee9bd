/* buffer - see buffer.h and trace/ring.h.
 *
 * Between two events there are always RING_SLACK zero words at t->cur, so records are written
 * without a check. When the collector does not keep up, the thread is parked: its events take the
 * long way and are counted there until there is room again.
 */
#include "inject/buffer.h"

#include "inject/process.h"
#include "inject/sys.h"

#include <fcntl.h>
#include <string.h>

#define WAIT_STEP_US 100
#ifndef WAIT_MOST_NS
#define WAIT_MOST_NS 1000000000u /* exact mode waits for so long, once, for a collector */
#endif

static uint64_t *last_start(const struct thread *t)
{
    return t->ring + RING_WORDS - RING_SLACK;
}

/* Where the next piece starts in the count of all words: at t->cur, or in the next lap. */
static uint64_t next_position(const struct thread *t)
{
    if (t->cur >= last_start(t))
        return t->lap + RING_WORDS;
    return t->lap + (uint64_t)(t->cur - t->ring);
}

static bool room(const struct thread *t)
{
    uint64_t tail = atomic_load_explicit(&t->slot->tail, memory_order_acquire);

    return next_position(t) + RING_PIECE + RING_SLACK <= tail + RING_WORDS;
}

static void next_piece(struct thread *t)
{
    if (t->cur >= last_start(t)) {
        buffer_store(t->cur, RING_PAD);
        t->lap += RING_WORDS;
        t->cur = t->ring;
    }
    t->limit = t->cur + RING_PIECE;
    if (t->limit > last_start(t))
        t->limit = last_start(t);
}

static bool wait_for_room(const struct thread *t)
{
    uint64_t start;

    if (sys_silent)
        return false;
    start = sys_now_ns();
    while (mode_is_exact(process_mode()) && sys_now_ns() - start < WAIT_MOST_NS) {
        sys_pause_us(WAIT_STEP_US);
        if (room(t))
            return true;
        process_check();
    }
    return false;
}

void buffer_turn(struct thread *t)
{
    if (local.parked)
        return; /* the rest of the event that parked us: the slack is for it */
    if (room(t) || wait_for_room(t)) {
        next_piece(t);
    } else {
        local.parked = t;
        local.thread = NULL;
    }
}

bool buffer_unpark(struct thread *t)
{
    if (!room(t))
        return false;
    next_piece(t);
    local.parked = NULL;
    local.thread = t;
    return true;
}

void buffer_tick(struct thread *t, uint64_t tick)
{
    t->tick = tick;
    buffer_free(t, tick << 5 | RING_TICK);
}

void buffer_now(struct thread *t)
{
    if (mode_is_exact(process_mode()) || sys_silent) /* a clock may ask the kernel */
        buffer_time(t);
    else
        buffer_tick(t, sys_now_ns() - process.control->origin_ns);
}

void buffer_moment(struct thread *t)
{
    _Atomic uint64_t *tick = &process.control->tick;
    uint64_t now = sys_now_ns() - process.control->origin_ns, seen = atomic_load(tick);

    while (seen < now && !atomic_compare_exchange_weak(tick, &seen, now))
        ;
    buffer_now(t);
}

void buffer_put(struct thread *t, uint64_t first, const uint64_t *words, size_t count,
                const char *text, size_t bytes)
{
    uint64_t *c = t->cur;

    memcpy(c + 1, words, count * 8);
    if (bytes)
        memcpy(c + 1 + count, text, bytes);
    buffer_store(c, first);
    t->cur = c + 1 + count + (bytes + 7) / 8;
    if (t->cur >= t->limit)
        buffer_turn(t);
}

/* A word of who and when: the slot, and the first tick (of 1 µs) that is surely later. */
#define TOLD_SLOT_BITS 14
#define TOLD_TICK_BITS 10

_Static_assert(RING_SLOTS <= 1u << TOLD_SLOT_BITS, "a slot outgrew its bits");

bool buffer_knows(const struct thread *t, const _Atomic uint64_t *told)
{
    uint64_t word = atomic_load_explicit(told, memory_order_acquire);
    uint64_t mask = (1u << TOLD_SLOT_BITS) - 1;

    if (!word)
        return false;
    return (word & mask) == (uint64_t)(t->slot - process.slots) ||
           word >> TOLD_SLOT_BITS << TOLD_TICK_BITS <= t->tick;
}

/* The exchange is a barrier: the record can be seen before the tick is read. So whoever sees a later
 * tick sees the record, and reads it before anything of that tick.
 */
void buffer_told(const struct thread *t, _Atomic uint64_t *told)
{
    uint64_t slot = (uint64_t)(t->slot - process.slots), tick;

    if (atomic_load(told))
        return; /* the first was earlier */
    atomic_exchange(told, 0);
    tick = atomic_load(&process.control->tick);
    if (tick < t->tick)
        tick = t->tick;
    atomic_store(told, ((tick >> TOLD_TICK_BITS) + 1) << TOLD_SLOT_BITS | slot);
}

void buffer_mend(struct thread *t)
{
    memset(t->cur, 0, RING_RECORD_MOST * sizeof(*t->cur));
}

static int claim_slot(void)
{
    _Atomic uint64_t *words = process.control->free_slots;

    for (unsigned int w = 0; w < RING_SLOTS / 64; w++) {
        uint64_t bits = atomic_load_explicit(&words[w], memory_order_relaxed);

        while (bits) {
            int bit = __builtin_ctzll(bits);

            if (atomic_compare_exchange_weak(&words[w], &bits, bits & ~(1ull << bit)))
                return (int)w * 64 + bit;
        }
    }
    atomic_fetch_add(&process.control->no_slot, 1);
    return -1;
}

static uint64_t *map_ring(int slot)
{
    uint64_t *ring = NULL;
    long fd = sys_call(SYS_openat, AT_FDCWD, (long)process.ring_path, O_RDWR | O_CLOEXEC, 0, 0, 0);

    if (sys_failed(fd))
        return NULL;
    ring = sys_share((int)fd, RING_RINGS_OFFSET + (uint64_t)slot * RING_WORDS * 8, RING_WORDS * 8);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return ring;
}

bool buffer_open(struct thread *t, uint32_t number)
{
    int slot = claim_slot();

    if (slot < 0)
        return false;
    t->slot = &process.slots[slot];
    t->ring = map_ring(slot);
    if (!t->ring) {
        atomic_fetch_or(&process.control->free_slots[slot / 64], 1ull << (slot % 64));
        return false;
    }
    t->session = process.session;
    t->cur = t->ring;
    t->lap = t->tick = 0;
    t->slot->process = number;
    t->slot->pid = (uint32_t)sys_pid();
    atomic_store(&t->slot->tid, (uint32_t)t->tid);
    next_piece(t);
    atomic_store_explicit(&t->slot->state, RING_SLOT_CLAIMED, memory_order_release);
    return true;
}
