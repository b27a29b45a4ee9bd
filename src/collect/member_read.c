/* member_read - see member_read.h. */
#include "collect/member_read.h"

bool member_has_words(const struct absorb_ring *r)
{
    return atomic_load_explicit((_Atomic uint64_t *)&r->words[r->at % RING_WORDS],
                                memory_order_acquire) != 0;
}

static uint64_t read_ring(struct collect *c, uint32_t slot, uint64_t until)
{
    struct absorb_ring *r = c->states[slot];
    uint64_t words, all = 0;

    do {
        words = absorb_ring(&c->absorb, r, until);
        atomic_store_explicit(&c->rings.slots[slot].tail, r->at, memory_order_release);
        all += words;
    } while (words >= RING_WORDS / 4 && all < RING_WORDS);
    return all;
}

/* The least tick of what is still to be read; UINT64_MAX: nothing is. */
static uint64_t next_tick(const struct collect *c, const struct member *m)
{
    uint64_t least = UINT64_MAX;

    for (unsigned int i = 0; i < m->slot_count; i++) {
        const struct absorb_ring *r = c->states[m->slots[i]];

        if (!r->broken && r->tick < least && member_has_words(r))
            least = r->tick;
    }
    return least;
}

/* Read one tick of those rings of the process whose thread has shown itself, or has not; words. */
static uint64_t read_tick(struct collect *c, const struct member *m, uint64_t tick, bool shown)
{
    uint64_t words = 0, got;

    for (unsigned int i = 0; i < m->slot_count; i++) {
        struct absorb_ring *r = c->states[m->slots[i]];

        if (r->broken || !r->thread == shown || r->tick > tick || !member_has_words(r))
            continue;
        got = read_ring(c, m->slots[i], tick);
        r->broken = !got; /* scribbled over by the program: nothing after it can be believed */
        words += got;
    }
    return words;
}

/* New threads come last in a tick, after the stack that started them. A program that writes as fast
 * as we read, without a TICK, must not keep us: no more is read at once than what its rings could
 * hold when we began.
 */
uint64_t member_read(struct collect *c, struct member *m, uint64_t last)
{
    uint64_t tick, words = 0, most = (uint64_t)m->slot_count * RING_WORDS;

    while (words < most && (tick = next_tick(c, m)) <= last && tick != UINT64_MAX) {
        words += read_tick(c, m, tick, true);
        words += read_tick(c, m, tick, false);
        if (next_tick(c, m) > tick)
            absorb_tick_end(&c->absorb, c->states[m->slots[0]]);
    }
    return words;
}
