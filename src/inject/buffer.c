/* buffer - see buffer.h and trace/ring.h.
 *
 * Between two events there are always RING_SLACK zero words at t->cur, so records are written
 * without a check. When the collector does not keep up, the thread is parked: its events take the
 * long way and are counted there until there is room again.
 */
#include "inject/buffer.h"

#include "inject/process.h"
#include "inject/ringfile.h"
#include "inject/sys.h"
#include "inject/whole.h"

#include <string.h>

#define WAIT_STEP_US 100
#define WAIT_LONG_US 2000 /* a step, once we have waited for some */
#define WAIT_SHORT_STEPS 200
#define PASSES_MOST 64 /* that leave our ring as it is: the collector has given it up */
#ifndef STUCK_NS
#define STUCK_NS 30000000000u /* a collector that does nothing for so long is stuck */
#endif
#define RETRY_NS 10000000u /* a thread that could not have a ring tries again after so long */

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

static _Atomic uint64_t
    stuck_at; /* 1 + the collector's passes when a thread found it stuck; or 0 */

/* Is there a reason to believe that the collector still comes to our ring? It shows that it moves
 * by its passes; one that was stopped or has little of the processor moves later. To wait for it
 * once is enough for a process.
 */
static bool may_come(uint64_t first, uint64_t *passes, uint64_t *since_ns)
{
    uint64_t now = atomic_load(&process.control->passes);

    if (now == *passes && sys_now_ns() - *since_ns < STUCK_NS)
        return atomic_load(&stuck_at) != now + 1;
    if (now == *passes) {
        atomic_store(&stuck_at, now + 1);
        return false;
    }
    *passes = now;
    *since_ns = sys_now_ns();
    return now - first < PASSES_MOST;
}

/* Nothing shall be lost. */
static bool is_patient(void)
{
    uint32_t mode = process_mode();

    return mode_is_exact(mode) || (mode_is_sampled(mode) && (whole_waits() || process.devices));
}

/* Exact recording waits for a collector that lives. Without the kernel there is no waiting, and not
 * even a clock.
 */
static bool wait_for_room(const struct thread *t)
{
    uint64_t first = atomic_load(&process.control->passes), passes = first, since_ns;

    if (sys_silent)
        return false;
    since_ns = sys_now_ns();
    process_check();
    for (int i = 0; is_patient(); i++) {
        if (!may_come(first, &passes, &since_ns))
            return false;
        sys_pause_us(i < WAIT_SHORT_STEPS ? WAIT_STEP_US : WAIT_LONG_US);
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

static void move_tick(uint64_t to)
{
    _Atomic uint64_t *tick = &process.control->tick;
    uint64_t seen = atomic_load(tick);

    while (seen < to && !atomic_compare_exchange_weak(tick, &seen, to))
        ;
}

void buffer_moment(struct thread *t)
{
    uint64_t now = sys_now_ns() - process.control->origin_ns;

    move_tick(now > t->tick ? now : t->tick + 1);
    buffer_now(t);
}

void buffer_after(const struct thread *t)
{
    move_tick(t->tick + 1);
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

/* The exchange is a barrier: the record can be seen before the tick is read. So whoever sees a
 * later tick sees the record, and reads it before anything of that tick.
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
    return -1;
}

void buffer_refused(void)
{
    if (local.refused != home.session)
        atomic_fetch_add(&process.control->no_slot, 1);
    local.refused = home.session;
    local.refused_tick = atomic_load(&process.control->tick);
}

bool buffer_may_open(void)
{
    return local.refused != home.session ||
           atomic_load(&process.control->tick) - local.refused_tick >= RETRY_NS;
}

bool buffer_open(struct thread *t, uint32_t number)
{
    int slot = buffer_may_open() ? claim_slot() : -1;
    uint64_t *ring = slot < 0 ? NULL : ringfile_ring(process.control, (unsigned int)slot);

    if (!ring) {
        if (slot >= 0)
            atomic_fetch_or(&process.control->free_slots[slot / 64], 1ull << (slot % 64));
        buffer_refused();
        return false;
    }
    t->slot = &process.slots[slot];
    t->ring = ring;
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
