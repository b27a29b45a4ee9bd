/* event - see event.h. */
#include "inject/event.h"

#include "inject/buffer.h"
#include "inject/guard.h"
#include "inject/process.h"
#include "inject/python.h"
#include "inject/record.h"
#include "inject/sys.h"
#include "inject/unwind.h"
#include "inject/whole.h"

#include <errno.h>
#include <string.h>

static OUTLINE void put_big(struct thread *t, const void *p, size_t size, enum ring_origin origin,
                            uint32_t stack)
{
    uint64_t words[2] = {stack, size};

    buffer_put(t, buffer_word(RING_ALLOC_BIG, origin, (uintptr_t)p), words, 2, NULL, 0);
}

static inline void put_alloc(struct thread *t, const void *p, size_t size, enum ring_origin origin,
                             uint32_t stack)
{
    buffer_time(t);
    if (likely(size <= UINT32_MAX))
        buffer_alloc(t, buffer_word(RING_ALLOC, origin, (uintptr_t)p),
                     (uint64_t)stack << 32 | size);
    else
        put_big(t, p, size, origin, stack);
}

static void (*_Atomic look)(void);

void event_now_and_then(void (*function)(void))
{
    atomic_store(&look, function);
}

static void look_elsewhere(bool all)
{
    void (*function)(void) = all ? atomic_load_explicit(&look, memory_order_acquire) : NULL;

    if (function)
        function();
    if (guard_any())
        guard_now_and_then();
}

static void tell_limit(struct thread *t, uint64_t bytes, const char *library)
{
    size_t text = library ? strlen(library) : 0;
    uint64_t words[2] = {bytes, (uint64_t)text << 32 | text};

    if (bytes)
        buffer_put(t, buffer_word(RING_MARK, RING_MARK_WHOLE, 0), words, 2, library, text);
}

/* The limit is a lower one since a library came, or this is a child of who has told so. */
static void meet_limit(struct thread *t)
{
    if (likely(!whole_untold()))
        return;
    sample_sync(local.mode);
    tell_limit(t, process.control->framework_from, whole_library());
    if (whole_from() != process.control->framework_from) /* it has risen before the fork */
        tell_limit(t, whole_from(), NULL);
}

/* Samples are few: each reads the clock itself, so the collector need not keep a fine tick. */
static OUTLINE void take_sample(const void *p, size_t size, enum ring_origin origin,
                                struct caller c)
{
    int kept = errno;
    enum sample_due due = sample_due(size);
    uint64_t words[3] = {0, size, 0};
    struct thread *t;

    if (due == SAMPLE_NOT)
        return;
    if (due == SAMPLE_ONE)
        words[2] = sample_next();
    else
        sample_spare(size);
    look_elsewhere(due == SAMPLE_ONE || !(++local.turns & 15));
    t = record_enter(c.sp);
    if (t) {
        python_tell_end(t);
        words[0] = unwind_block(t, c);
        buffer_now(t);
        meet_limit(t);
        sample_taken(p, words[2] > size || !words[2] ? words[2] : size);
        buffer_put(t, buffer_word(RING_SAMPLE, origin, (uintptr_t)p), words, 3, NULL, 0);
        tell_limit(t, whole_adapt(due == SAMPLE_WHOLE), NULL);
        record_leave();
    }
    errno = kept;
}

/* What is to be looked at now and then where each allocation is recorded. */
static OUTLINE void look_around(uintptr_t frame)
{
    struct thread *t;

    look_elsewhere(true);
    t = record_enter(frame);
    if (!t)
        return;
    python_tell_end(t);
    record_leave();
}

/* The mode has changed, or this is the thread's first call. */
static OUTLINE void catch_up(size_t size)
{
    int kept = errno;

    if (!local.busy && record_ready()) {
        sample_sync(process_mode());
        if (mode_is_sampled(local.mode))
            local.left -= (int64_t)size + 1;
    }
    errno = kept;
}

static inline void check_mode(size_t size)
{
    if (unlikely(local.mode != process_mode() || !local.synced))
        catch_up(size);
}

/* The countdown has passed zero for nothing. A new one is as good as the rest of the old: which
 * bytes are drawn does not depend on what came before.
 */
void event_failed(void)
{
    int kept = errno;

    if (local.muted || local.busy || local.left >= 0)
        return;
    if (local.synced)
        sample_sync(local.mode);
    else
        catch_up(0);
    errno = kept;
}

void event_limit_fell(void)
{
    struct thread *t;

    if (local.busy || !local.synced || !mode_is_sampled(local.mode))
        return;
    t = record_enter(CALLER().sp);
    if (!t)
        return;
    buffer_now(t);
    meet_limit(t);
    record_leave();
}

void event_start(void)
{
    struct thread *t;

    catch_up(0);
    if (local.mode == RING_OFF)
        return;
    t = record_enter(CALLER().sp);
    if (t)
        record_leave();
}

/* Outside of a window: its address and its size. */
static OUTLINE void put_shadow(const void *p, size_t size, enum ring_origin origin, uintptr_t frame)
{
    struct thread *t;

    if (unlikely(!(++local.turns & 15)))
        look_around(frame);
    t = record_enter(frame);
    if (!t)
        return;
    put_alloc(t, p, size, origin, unwind_outside(t));
    record_leave();
}

void event_record(const void *p, size_t size, enum ring_origin origin, uintptr_t pc, uintptr_t sp,
                  uintptr_t fp)
{
    struct thread *t;
    uint32_t stack;

    if (unlikely(local.muted))
        return;
    check_mode(size);
    if (likely(local.mode == RING_EXACT)) {
        if (unlikely(!(++local.turns & 15)))
            look_around(sp);
        t = record_enter(sp);
        if (unlikely(!t))
            return;
        stack = origin == RING_BY_PYTHON ? unwind_python(t, pc, sp, fp)
                                         : unwind_stack(t, pc, sp, fp);
        put_alloc(t, p, size, origin, stack);
        record_leave();
    } else if (mode_is_sampled(local.mode) && local.left < 0) {
        take_sample(p, size, origin, (struct caller){pc, sp, fp});
    } else if (local.mode == (RING_EXACT | RING_OUTSIDE)) {
        put_shadow(p, size, origin, sp);
    }
}

static inline bool give_back(const void *p, enum ring_origin origin, uint64_t paid, uintptr_t frame)
{
    unsigned int aux = origin;
    struct thread *t;

    if (unlikely(local.muted))
        return false;
    check_mode(0);
    if (unlikely(sample_used) && !(sample_marked(p) && sample_forget(p)) &&
        !mode_is_exact(local.mode))
        return false;
    if (unlikely(!sample_used && !mode_is_exact(local.mode)))
        return false;
    if (unlikely(local.mode & RING_PAUSED) && !process_recorded())
        return false;
    t = record_enter(frame);
    if (unlikely(!t))
        return false;
    if (likely(mode_is_exact(local.mode))) {
        buffer_time(t);
    } else {
        python_tell_end(t);
        buffer_now(t);
        aux |= sample_is_last(p, paid) ? RING_AT_ONCE : 0;
    }
    buffer_free(t, buffer_word(RING_FREE, aux, (uintptr_t)p));
    record_leave();
    return true;
}

bool event_free(const void *p, enum ring_origin origin, uintptr_t frame)
{
    return give_back(p, origin, 0, frame);
}

bool event_move(const void *p, size_t size, enum ring_origin origin, uintptr_t frame)
{
    return give_back(p, origin, (uint64_t)size + 1, frame);
}

void event_unfree(const void *p, uintptr_t frame)
{
    struct thread *t;

    if ((local.mode & RING_MODES) == RING_SAMPLED)
        sample_keep(p, 0);
    t = record_enter(frame);
    if (!t)
        return;
    buffer_free(t, buffer_word(RING_UNFREE, 0, (uintptr_t)p));
    record_leave();
}
