/* buffer - a thread's ring: how words get to the collector. */
#ifndef INJECT_BUFFER_H
#define INJECT_BUFFER_H

#include "inject/state.h"

/* Claim a slot and map its ring; false when there is none, which is counted once for a thread. It
 * is then tried again, but not at each event. The thread's ring starts empty.
 */
bool buffer_open(struct thread *t, uint32_t number);
bool buffer_may_open(void);
void buffer_refused(void); /* this thread cannot have a ring now, for another reason */

/* The piece is used up: take the next, wait for the collector, or park the thread. */
void buffer_turn(struct thread *t);

/* Try to go on with a parked thread. */
bool buffer_unpark(struct thread *t);

/* A record was left half written (by a jump out of a signal handler): clear what it left. */
void buffer_mend(struct thread *t);

/* A tick has passed: say so. */
void buffer_tick(struct thread *t, uint64_t tick);

/* One record of any length up to RING_RECORD_MOST: first is stored last. Text follows words. */
void buffer_put(struct thread *t, uint64_t first, const uint64_t *words, size_t count,
                const char *text, size_t bytes);

/* What one thread has told, others refer to, and their rings are read in any order within a tick.
 * So a thread that meets what another has told, in a tick that it may still be in, tells it again.
 * *told is 0 at first. Call buffer_told when the record was put.
 */
bool buffer_knows(const struct thread *t, const _Atomic uint64_t *told);
void buffer_told(const struct thread *t, _Atomic uint64_t *told);

static inline uint64_t buffer_word(enum ring_kind kind, unsigned int aux, uintptr_t address)
{
    return (uint64_t)address << 16 | (uint64_t)aux << 5 | (uint64_t)kind;
}

static inline void buffer_time(struct thread *t)
{
    uint64_t tick = atomic_load_explicit(&process.control->tick, memory_order_relaxed);

    if (unlikely(tick != t->tick))
        buffer_tick(t, tick);
}

/* For records that are rare: in exact mode the tick, whose order all threads share; else the clock,
 * as the collector does not hurry then.
 */
void buffer_now(struct thread *t);

/* For what shall be told apart from all before and after: moves the tick of all threads to now, or
 * on.
 */
void buffer_moment(struct thread *t);
/* What others do from here on comes after it: the next tick begins. */
void buffer_after(const struct thread *t);

static inline void buffer_store(uint64_t *at, uint64_t word)
{
    atomic_store_explicit((_Atomic uint64_t *)at, word, memory_order_release);
}

/* The two records that are written millions of times. */
static inline void buffer_alloc(struct thread *t, uint64_t first, uint64_t second)
{
    uint64_t *c = t->cur;

    c[1] = second;
    buffer_store(c, first);
    t->cur = c + 2;
    if (unlikely(t->cur >= t->limit))
        buffer_turn(t);
}

static inline void buffer_free(struct thread *t, uint64_t first)
{
    uint64_t *c = t->cur;

    buffer_store(c, first);
    t->cur = c + 1;
    if (unlikely(t->cur >= t->limit))
        buffer_turn(t);
}

#endif
