/* sample - see sample.h. */
#include "inject/sample.h"

#include "inject/sys.h"

#include <string.h>

#define START_SHARE 32  /* the mean starts at this part of the one asked for */
#define SAMPLES_AIM 128 /* and grows so that there are about so many samples */

_Atomic uint8_t sample_marks[SAMPLE_MARKS];
_Atomic bool sample_used;

static __thread uint64_t drawn_with __attribute__((tls_model("initial-exec")));
static __thread struct {
    const void *block;
    int64_t left;
} last __attribute__((tls_model("initial-exec")));

/* The mean that gives no more samples than a process may have: for what it allocated so far, in the
 * time that it took and a second more.
 */
static uint64_t mean_for_rate(uint64_t bytes)
{
    uint64_t now = atomic_load_explicit(&process.control->tick, memory_order_relaxed), none = 0;
    uint64_t rate = process.control->sample_rate;

    if (!rate)
        return 0;
    if (unlikely(!atomic_load_explicit(&process.sampled_since, memory_order_relaxed)))
        atomic_compare_exchange_strong(&process.sampled_since, &none, now | 1);
    now -= atomic_load_explicit(&process.sampled_since, memory_order_relaxed) - 1;
    return (uint64_t)((double)bytes / ((double)rate * ((double)now / 1e9 + 1)));
}

static uint64_t mean_now(void)
{
    uint64_t bytes = atomic_load_explicit(&process.sampled_bytes, memory_order_relaxed);
    uint64_t most = process.control->sample_mean, mean = bytes / SAMPLES_AIM;
    uint64_t slow = mean_for_rate(bytes);

    if (slow > most)
        return slow;
    if (mean < most / START_SHARE)
        mean = most / START_SHARE;
    return mean < most ? mean : most;
}

static uint64_t random_bits(void)
{
    uint64_t x = local.random;

    if (!x)
        x = (sys_now_ns() * 0x9e3779b97f4a7c15u ^ (uintptr_t)&local) | 1;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return local.random = x;
}

/* -ln(u); the series of atanh, good to 1e-7. */
double sample_exponential(void)
{
    uint64_t bits = (random_bits() >> 11) + 1; /* 1 .. 2^53 */
    int exponent = 63 - __builtin_clzll(bits);
    double m = (double)bits / (double)(1ull << exponent); /* 1 <= m < 2 */
    double z = (m - 1) / (m + 1), z2 = z * z;
    double ln = 2 * z *
                (1 + z2 * (1.0 / 3 +
                           z2 * (1.0 / 5 + z2 * (1.0 / 7 + z2 * (1.0 / 9 + z2 * (1.0 / 11))))));

    return (53 - exponent) * 0.69314718055994531 - ln;
}

static void draw(void)
{
    drawn_with = mean_now();
    local.left = (int64_t)(sample_exponential() * (double)drawn_with) + 1;
}

void sample_sync(uint32_t mode)
{
    local.mode = mode;
    local.pass = mode_is_exact(mode) ? UINT32_MAX : mode;
    local.synced = 1;
    if (mode == RING_SAMPLED)
        draw();
    else
        local.left = mode_is_exact(mode) ? -SAMPLE_FAR : SAMPLE_FAR;
}

uint64_t sample_next(void)
{
    uint64_t mean = drawn_with;

    atomic_fetch_add_explicit(&process.sampled_bytes, mean, memory_order_relaxed);
    draw();
    return mean;
}

void sample_taken(const void *p)
{
    last.block = p;
    last.left = local.left;
    sample_keep(p);
}

bool sample_is_last(const void *p, uint64_t paid)
{
    return p == last.block && (uint64_t)local.left + paid == (uint64_t)last.left;
}

void sample_keep(const void *p)
{
    _Atomic uint8_t *mark = &sample_marks[sample_mark(p)];
    uint8_t n = atomic_load_explicit(mark, memory_order_relaxed);
    uint32_t number;

    atomic_store_explicit(&sample_used, true, memory_order_relaxed);
    lookup_claim(&process.live, (uintptr_t)p, &number);
    while (n < 255 && !atomic_compare_exchange_weak(mark, &n, (uint8_t)(n + 1)))
        ; /* at 255 it stays: its frees take the long way, no more */
}

bool sample_forget(const void *p)
{
    _Atomic uint8_t *mark = &sample_marks[sample_mark(p)];
    uint8_t n = atomic_load_explicit(mark, memory_order_relaxed);

    if (!lookup_remove(&process.live, (uintptr_t)p))
        return false;
    while (n > 0 && n < 255 && !atomic_compare_exchange_weak(mark, &n, (uint8_t)(n - 1)))
        ;
    return true;
}

void sample_forget_all(void)
{
    atomic_store(&sample_used, false);
    lookup_forget(&process.live);
    memset((void *)sample_marks, 0, sizeof(sample_marks));
}
