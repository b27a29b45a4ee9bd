/* sample - which allocations are recorded in sampled mode, and which blocks alive are among them.
 *
 * Every byte is equally likely: the distance to the next sampled byte is drawn from an exponential
 * distribution. So a block of n bytes is taken with probability 1 - exp(-(n + 1) / mean), and
 * stands for the inverse of that. The mean starts small and grows with what was allocated, so that
 * a small program has samples, too, and grows beyond what was asked for where that would give more
 * samples per second than a process may have, unless it was asked for in so many words. What is
 * freed soon makes it grow as well, and then too few of the blocks that stay would be among the
 * samples: so it grows no further than what is alive allows, up to some thousand samples more in
 * all.
 */
#ifndef INJECT_SAMPLE_H
#define INJECT_SAMPLE_H

#include "inject/state.h"

#define SAMPLE_FEW                                                                                 \
    (1u << 15) /* marks while few blocks are kept: few pages, that a process touches */
#define SAMPLE_MANY (1u << 18)
#define SAMPLE_FAR ((int64_t)1 << 62) /* a countdown that never ends, and its opposite */

/* One byte per class of addresses: not 0 where a sampled block may be alive. */
extern _Atomic uint8_t sample_few[SAMPLE_FEW] __attribute__((visibility("hidden")));
extern _Atomic uint8_t sample_many[SAMPLE_MANY] __attribute__((visibility("hidden")));

/* Set when the first block was sampled, and when all are marked among the many: a free asks one
 * table, as each is a line of the cache that the program could have used.
 */
extern _Atomic bool sample_used, sample_many_used __attribute__((visibility("hidden")));

static inline uint32_t sample_class(const void *p)
{
    return (uint32_t)((uintptr_t)p >> 6 ^ (uintptr_t)p >> 24);
}

static inline bool sample_marked(const void *p)
{
    uint32_t class = sample_class(p);

    return unlikely(atomic_load_explicit(&sample_many_used, memory_order_acquire))
             ? atomic_load_explicit(&sample_many[class % SAMPLE_MANY], memory_order_relaxed)
             : atomic_load_explicit(&sample_few[class % SAMPLE_FEW], memory_order_relaxed);
}

/* The thread's countdown for the mode that is on now. */
void sample_sync(uint32_t mode);

/* -ln(u) for u uniform in (0, 1], of this thread. */
double sample_exponential(void);

/* `left` has passed zero for a block of this size. Is it to be recorded? If not, the countdown goes
 * on, and `left` is above zero again.
 */
enum sample_due {
    SAMPLE_NOT,
    SAMPLE_ONE,   /* its bytes were drawn: sample_next */
    SAMPLE_WHOLE, /* as all of its size are; it has cost the countdown nothing, by sample_spare */
};
enum sample_due sample_due(size_t size);
void sample_spare(size_t size);

/* The countdown has passed zero: the mean that this sample was drawn with; draws the next. */
uint64_t sample_next(void);

/* A block was recorded, the thread's last so far; it stands for so many bytes alive that are not
 * otherwise known.
 */
void sample_taken(const void *p, uint64_t bytes);
/* Is it the thread's last sample, with nothing allocated since? Then the countdown stands where it
 * was drawn, but for what it has `paid` for an allocation that is under way.
 */
bool sample_is_last(const void *p, uint64_t paid);

void sample_keep(const void *p, uint64_t bytes); /* a sampled block lives */
/* Its free takes the long way from now on, sampled or not. */
void sample_watch(const void *p);
/* It dies; false: it was not a sampled one. */
bool sample_forget(const void *p);
void sample_forget_all(void); /* a new recording knows none of them */

#endif
