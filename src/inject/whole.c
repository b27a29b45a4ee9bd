/* whole - see whole.h. The limit is the process's. It doubles when there were more such blocks than
 * `whole_rate` allows, in the time since it last changed and a few seconds more, or when so many
 * are alive that frees of others would be slowed; and is halved again after calm seconds.
 */
#include "inject/whole.h"

#include <string.h>

#define SECOND 1000000000u
#define BURST_S 4       /* what is allowed in so many seconds may come at once, */
#define BURST_SHORT 0.5 /* or in these, where nobody waits for room in a full ring */
#define CALM_NS (2ull * SECOND)
#define CALM 8             /* of the blocks that are allowed, one in so many is calm */
#define ALIVE_MOST 131072u /* half of the classes of addresses that have a mark */
#define LIBRARY_MOST 64    /* bytes of its name that are told */

static struct {
    _Atomic uint64_t from;  /* 0: as it was asked for */
    _Atomic uint64_t since; /* tick of the last change; 0: never looked at */
    _Atomic uint64_t count; /* since then */
} now;

static struct {
    _Atomic bool taken; /* by the thread that writes its name */
    _Atomic bool there;
    char name[LIBRARY_MOST];
} library;

static _Atomic bool untold;

const char *whole_library(void)
{
    return atomic_load_explicit(&library.there, memory_order_acquire) ? library.name : NULL;
}

static uint64_t asked_for(void)
{
    uint64_t from = whole_library() ? process.control->framework_from : process.control->whole_from;

    return from ? from : WHOLE_NONE;
}

uint64_t whole_from(void)
{
    uint64_t from = atomic_load_explicit(&now.from, memory_order_relaxed);

    return from ? from : asked_for();
}

bool whole_waits(void)
{
    return process.control->wants & RING_WANTS_ROOM || whole_library();
}

static uint64_t rate_now(void)
{
    return whole_library() ? process.control->framework_rate : process.control->whole_rate;
}

static double burst_s(void)
{
    return whole_waits() ? BURST_S : BURST_SHORT;
}

static void forget_counts(void)
{
    atomic_store(&now.from, 0);
    atomic_store(&now.since, 0);
    atomic_store(&now.count, 0);
}

void whole_for(const char *name)
{
    size_t bytes = strnlen(name, LIBRARY_MOST - 1);

    if (atomic_exchange(&library.taken, true))
        return;
    memcpy(library.name, name, bytes);
    library.name[bytes] = '\0';
    atomic_store_explicit(&library.there, true, memory_order_release);
    forget_counts();
    atomic_store(&untold, true);
}

bool whole_untold(void)
{
    return unlikely(atomic_load_explicit(&untold, memory_order_relaxed)) &&
           atomic_exchange(&untold, false);
}

/* One thread of those that see the need moves it. */
static uint64_t move(uint64_t from, uint64_t to, uint64_t tick)
{
    uint64_t is = atomic_load(&now.from);

    if ((is ? is : asked_for()) != from || !atomic_compare_exchange_strong(&now.from, &is, to))
        return 0;
    atomic_store(&now.count, 0);
    atomic_store(&now.since, tick | 1);
    return to;
}

uint64_t whole_adapt(unsigned int count)
{
    uint64_t tick = atomic_load_explicit(&process.control->tick, memory_order_relaxed);
    uint64_t none = 0, from = whole_from(), rate = rate_now();
    uint64_t n = atomic_fetch_add_explicit(&now.count, count, memory_order_relaxed) + count;
    uint32_t alive = atomic_load_explicit(&process.kept, memory_order_relaxed);
    double elapsed;

    if (!rate || from == WHOLE_NONE)
        return 0;
    if (!atomic_load_explicit(&now.since, memory_order_relaxed))
        atomic_compare_exchange_strong(&now.since, &none, tick | 1);
    none = atomic_load_explicit(&now.since, memory_order_relaxed) - 1;
    elapsed = tick > none ? (double)(tick - none) / SECOND : 0;
    if ((double)n > (double)rate * (elapsed + burst_s()) || (count && alive > ALIVE_MOST))
        return move(from, from * 2, tick);
    if (from > asked_for() && tick > none + CALM_NS && alive < ALIVE_MOST / 2 &&
        (double)n * CALM < (double)rate * elapsed)
        return move(from, from / 2, tick);
    return 0;
}

void whole_begin_anew(void)
{
    atomic_store(&library.there, false);
    atomic_store(&library.taken, false);
    atomic_store(&untold, false);
    forget_counts();
}

void whole_forked(void)
{
    atomic_store(&untold, whole_library() != NULL);
}
