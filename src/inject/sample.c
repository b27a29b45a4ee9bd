/* sample - see sample.h.
 *
 * Marks are asked for at every free, so they are in one table: a small one while few blocks are
 * kept, then a large one. Who finds the small one full moves the marks; meanwhile others mark both.
 * A mark too many costs a free the long way; one too few would lose it. So a block that was kept
 * while they were moved may be marked twice, and unmarked once.
 */
#include "inject/sample.h"

#include "inject/sys.h"
#include "inject/whole.h"

#include <string.h>

#define START_SHARE 32  /* the mean starts at this part of the one asked for */
#define SAMPLES_AIM 128 /* and grows so that there are about so many samples */
#define ALIVE_AIM 100   /* of them alive: an error of a tenth */
#define ALIVE_MORE                                                                                 \
    1000 /* samples more that a process may have for these, while its bytes grow e-fold */

#define FEW_MOST 1024u          /* blocks that are marked among the few */
#define AMONG_MANY (1ull << 63) /* of a value: the block is marked there */

_Atomic uint8_t sample_few[SAMPLE_FEW], sample_many[SAMPLE_MANY];
_Atomic bool sample_used, sample_many_used;

static _Atomic uint32_t few_kept;
static _Atomic bool moving; /* the marks are moved, or were */

static __thread uint64_t drawn_with __attribute__((tls_model("initial-exec")));
static __thread struct {
    const void *block;
    uint64_t left;
} last __attribute__((tls_model("initial-exec")));

/* The mean that gives no more samples than a process may have, and `more`: for what it allocated so
 * far, in the time that it took and a second more.
 */
static uint64_t mean_for_rate(uint64_t bytes, uint64_t rate, unsigned int more)
{
    uint64_t now = atomic_load_explicit(&process.control->tick, memory_order_relaxed), none = 0;

    if (!rate)
        return 0;
    if (unlikely(!atomic_load_explicit(&process.sampled_since, memory_order_relaxed)))
        atomic_compare_exchange_strong(&process.sampled_since, &none, now | 1);
    now -= atomic_load_explicit(&process.sampled_since, memory_order_relaxed) - 1;
    return (uint64_t)((double)bytes / ((double)rate * ((double)now / 1e9 + 1) + more));
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t mean_now(void)
{
    uint64_t bytes = atomic_load_explicit(&process.sampled_bytes, memory_order_relaxed);
    uint64_t alive = atomic_load_explicit(&process.sampled_alive, memory_order_relaxed);
    uint64_t rate = process.control->sample_rate, slow = mean_for_rate(bytes, rate, 0);
    uint64_t most = process.control->sample_mean, least = most / START_SHARE;
    uint64_t mean = larger(bytes / SAMPLES_AIM, least), fine;

    mean = slow > most ? slow : mean < most ? mean : most;
    if (!rate)
        return mean;
    fine = larger(larger(alive / ALIVE_AIM, least), mean_for_rate(bytes, rate, ALIVE_MORE));
    return fine < mean ? fine : mean;
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

/* All that is left of the countdown. */
static int64_t to_go(void)
{
    return (int64_t)((uint64_t)local.left + (uint64_t)local.rest);
}

static void count_from(int64_t bytes)
{
    int64_t most = (int64_t)whole_from();

    local.left = bytes < most ? bytes : most;
    local.rest = bytes - local.left;
}

static void draw(void)
{
    drawn_with = mean_now();
    count_from((int64_t)(sample_exponential() * (double)drawn_with) + 1);
}

enum sample_due sample_due(size_t size)
{
    int64_t bytes = to_go();

    if (size >= whole_from())
        return SAMPLE_WHOLE;
    if (bytes < 0)
        return SAMPLE_ONE;
    count_from(bytes);
    return SAMPLE_NOT;
}

void sample_spare(size_t size)
{
    count_from((int64_t)((uint64_t)to_go() + size + 1));
}

void sample_sync(uint32_t mode)
{
    local.mode = mode;
    local.pass = mode_is_exact(mode) ? UINT32_MAX : mode;
    local.synced = 1;
    local.rest = 0;
    if (mode_is_sampled(mode))
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

void sample_taken(const void *p, uint64_t bytes)
{
    last.block = p;
    last.left = (uint64_t)to_go();
    sample_keep(p, bytes);
}

bool sample_is_last(const void *p, uint64_t paid)
{
    return p == last.block && (uint64_t)to_go() + paid == last.left;
}

/* At 255 it stays: its frees take the long way, no more. */
static void mark(const void *p, uint64_t among, int more)
{
    _Atomic uint8_t *m = among ? &sample_many[sample_class(p) % SAMPLE_MANY]
                               : &sample_few[sample_class(p) % SAMPLE_FEW];
    /* Most often it is the first of its class: to look first would be two faults of a new page. */
    uint8_t n = more > 0 ? 0 : atomic_load_explicit(m, memory_order_relaxed);

    while (n < 255 && (more > 0 || n) && !atomic_compare_exchange_weak(m, &n, (uint8_t)(n + more)))
        ;
}

/* The mark first: who frees the block unmarks what its value says. */
static void move_mark(struct lookup_entry *entry)
{
    const void *p = (const void *)(uintptr_t)atomic_load(&entry->key);
    uint64_t value = atomic_load(&entry->value);

    if (!p || value & AMONG_MANY)
        return;
    mark(p, AMONG_MANY, 1);
    atomic_compare_exchange_strong(&entry->value, &value, value | AMONG_MANY);
}

static void move_marks(void)
{
    if (atomic_exchange(&moving, true))
        return;
    lookup_each(&process.live, move_mark);
    atomic_store(&sample_many_used, true);
}

/* Where the next block is marked. */
static uint64_t place_of_mark(void)
{
    if (!atomic_load(&moving)) {
        if (atomic_load_explicit(&few_kept, memory_order_relaxed) < FEW_MOST) {
            atomic_fetch_add_explicit(&few_kept, 1, memory_order_relaxed);
            return 0;
        }
        move_marks();
    }
    return AMONG_MANY;
}

/* Marks that are moved by another thread, or by who this one has interrupted, are asked for where
 * they were until all are there.
 */
static void mark_kept(const void *p, uint64_t among)
{
    mark(p, among, 1);
    if (!among && atomic_load(&moving))
        mark(p, AMONG_MANY, 1);
    else if (among && !atomic_load(&sample_many_used))
        mark(p, 0, 1);
}

/* Who is there already is marked: a block of the same address, whose end was missed. Mostly nothing
 * is. */
static bool claim(const void *p, struct lookup_entry **entry)
{
    uint32_t number;

    return (sample_marked(p)
                ? lookup_claim_entry(&process.live, (uintptr_t)p, &number, entry)
                : lookup_claim_new(&process.live, (uintptr_t)p, &number, entry)) == LOOKUP_ADDED;
}

void sample_keep(const void *p, uint64_t bytes)
{
    struct lookup_entry *entry;
    uint64_t among;

    atomic_store_explicit(&sample_used, true, memory_order_relaxed);
    if (!claim(p, &entry))
        return;
    among = place_of_mark();
    atomic_store(&entry->value, bytes | among);
    atomic_fetch_add_explicit(&process.kept, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&process.sampled_alive, bytes, memory_order_relaxed);
    mark_kept(p, among);
}

void sample_watch(const void *p)
{
    mark(p, 0, 1);
    mark(p, AMONG_MANY, 1);
}

bool sample_forget(const void *p)
{
    uint64_t value, bytes;

    if (!lookup_remove(&process.live, (uintptr_t)p, &value))
        return false;
    bytes = value & ~AMONG_MANY;
    atomic_fetch_sub_explicit(&process.sampled_alive, bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&process.kept, 1, memory_order_relaxed);
    if (!(value & AMONG_MANY))
        atomic_fetch_sub_explicit(&few_kept, 1, memory_order_relaxed);
    mark(p, value & AMONG_MANY, -1);
    return true;
}

void sample_forget_all(void)
{
    atomic_store(&sample_used, false);
    lookup_forget(&process.live);
    atomic_store(&process.kept, 0);
    atomic_store(&process.sampled_alive, 0);
    atomic_store(&few_kept, 0);
    memset((void *)sample_few, 0, sizeof(sample_few));
    atomic_store(&sample_many_used, false);
    if (atomic_exchange(&moving, false))
        memset((void *)sample_many, 0, sizeof(sample_many));
}
