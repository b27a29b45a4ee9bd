/* pylayer - each block that passes is told once, with the size that was asked for.
 *
 * A layer keeps no header and no state of a block: so blocks from before it came are freed through
 * it, and blocks from its time outlive it. While the allocator beneath works for us it is muted, so
 * what it takes from malloc or from the kernel is not counted beside it. Small blocks of the
 * interpreter's own allocator never come from malloc: for these the layer counts down and jumps.
 * One that is to be sampled is asked for a little larger, so that it does come from malloc, whose
 * free is hooked: frees of all others, millions a second, then go straight to the interpreter.
 */
#include "inject/pylayer.h"

#include "inject/event.h"
#include "inject/failed.h"
#include "inject/mute.h"
#include "inject/process.h"

#include <errno.h>

#define CALL "an allocator of Python"
#define SMALL 512u /* the most that the interpreter serves from its pools */

/* The countdown alone: in exact mode it stands below zero, and other changes of the mode are
 * noticed by the hooks of malloc and free, soon enough.
 */
static inline bool skip(size_t size)
{
    local.left = (int64_t)((uint64_t)local.left - size - 1);
    return likely(local.left >= 0);
}

/* What to ask the allocator for: see above. */
static inline size_t asked(size_t size)
{
    return local.left < 0 && size <= SMALL && mode_is_sampled(process_mode()) && local.synced &&
                   sample_due(size) == SAMPLE_ONE
             ? SMALL + 1
             : size;
}

static inline void *take(const struct functions *u, void *context, size_t size, struct caller c)
{
    size_t ask = asked(size);
    int64_t left = mute_begin();
    void *p = u->malloc(context, ask);

    mute_end(left);
    if (likely(p))
        event_alloc(p, size, RING_BY_PYTHON, c);
    else
        failed_alloc(CALL, size, ENOMEM, c);
    return p;
}

static inline void *take_zeroed(const struct functions *u, void *context, size_t n, size_t size,
                                struct caller c)
{
    size_t ask = asked(n * size);
    int64_t left = mute_begin();
    void *p = ask > n * size ? u->calloc(context, 1, ask) : u->calloc(context, n, size);

    mute_end(left);
    if (likely(p))
        event_alloc(p, n * size, RING_BY_PYTHON, c);
    else
        failed_alloc(CALL, failed_product(n, size), ENOMEM, c);
    return p;
}

/* A failed one leaves the old block alive, of size 0 as well. */
static inline void *retake(const struct functions *u, void *context, void *old, size_t size,
                           struct caller c)
{
    bool skipped = skip(size) && event_skip_free(old), freed;
    size_t ask;
    int64_t left;
    void *p;

    freed = !skipped && old && event_move(old, size, RING_BY_PYTHON, c.sp);
    ask = asked(size);
    left = mute_begin();
    p = u->realloc(context, old, ask);
    mute_end(left);
    if (unlikely(!skipped && p))
        event_alloc(p, size, RING_BY_PYTHON, c);
    else if (unlikely(freed))
        event_unfree(old, c.sp);
    if (unlikely(!p))
        failed_alloc(CALL, size, ENOMEM, c);
    return p;
}

static inline void give_back(const struct functions *u, void *context, void *p, struct caller c)
{
    int64_t left;

    if (p)
        event_free(p, RING_BY_PYTHON, c.sp);
    left = mute_begin();
    u->free(context, p);
    mute_end(left);
}

/* What each layer stands on; set once, as a call may be on its way through it at any time. */
static struct functions beneath[PYLAYERS];
static _Atomic int claimed[PYLAYERS]; /* 1: being set; 2: set */

/* The functions of one layer. CALLER() needs each recorded form to be reached by a jump. */
#define LAYER(k)                                                                                   \
    static OUTLINE void *malloc_##k(void *context, size_t size)                                    \
    {                                                                                              \
        return take(&beneath[k], context, size, CALLER());                                         \
    }                                                                                              \
    static OUTLINE void *calloc_##k(void *context, size_t n, size_t size)                          \
    {                                                                                              \
        return take_zeroed(&beneath[k], context, n, size, CALLER());                               \
    }                                                                                              \
    static void *realloc_##k(void *context, void *old, size_t size)                                \
    {                                                                                              \
        return retake(&beneath[k], context, old, size, CALLER());                                  \
    }                                                                                              \
    static OUTLINE void free_recorded_##k(void *context, void *p)                                  \
    {                                                                                              \
        give_back(&beneath[k], context, p, CALLER());                                              \
    }                                                                                              \
    static void free_##k(void *context, void *p)                                                   \
    {                                                                                              \
        if (event_skip_free(p))                                                                    \
            beneath[k].free(context, p);                                                           \
        else                                                                                       \
            free_recorded_##k(context, p);                                                         \
    }                                                                                              \
    static void *count_malloc_##k(void *context, size_t size)                                      \
    {                                                                                              \
        if (skip(size) && k < PYLAYER_QUICK && likely(size - 1 < SMALL))                           \
            return beneath[k].malloc(context, size);                                               \
        return malloc_##k(context, size);                                                          \
    }                                                                                              \
    static void *count_calloc_##k(void *context, size_t n, size_t size)                            \
    {                                                                                              \
        if (skip(n * size) && k < PYLAYER_QUICK && likely(n * size - 1 < SMALL))                   \
            return beneath[k].calloc(context, n, size);                                            \
        return calloc_##k(context, n, size);                                                       \
    }

LAYER(0)
LAYER(1)
LAYER(2)
LAYER(3)
LAYER(4)

#define FUNCTIONS(k)                                                                               \
    {                                                                                              \
        count_malloc_##k, count_calloc_##k, realloc_##k, free_##k                                  \
    }

const struct functions pylayers[PYLAYERS] = {FUNCTIONS(0), FUNCTIONS(1), FUNCTIONS(2), FUNCTIONS(3),
                                             FUNCTIONS(4)};

bool pylayer_same(const struct functions *a, const struct functions *b)
{
    return a->malloc == b->malloc && a->calloc == b->calloc && a->realloc == b->realloc &&
           a->free == b->free;
}

int pylayer_of(const struct allocator *a)
{
    int k = PYLAYERS - 1;

    while (k >= 0 && a->f.malloc != pylayers[k].malloc)
        k--;
    return k;
}

int pylayer_on(const struct functions *f, bool pools)
{
    for (int k = pools ? 0 : PYLAYER_QUICK; k < (pools ? PYLAYER_QUICK : PYLAYERS); k++) {
        int state = 0;

        if (atomic_compare_exchange_strong(&claimed[k], &state, 1)) {
            beneath[k] = *f;
            atomic_store(&claimed[k], 2);
            return k;
        }
        if (state == 2 && pylayer_same(&beneath[k], f))
            return k;
    }
    return -1;
}

const struct functions *pylayer_beneath(int k)
{
    return &beneath[k];
}
