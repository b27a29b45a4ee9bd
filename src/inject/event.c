/* event - see event.h. */
#include "inject/event.h"

#include "inject/buffer.h"
#include "inject/process.h"
#include "inject/pymem.h"
#include "inject/sys.h"
#include "inject/unwind.h"

#include <errno.h>

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

/* Samples are few: each reads the clock itself, so the collector need not keep a fine tick. */
static OUTLINE void take_sample(const void *p, size_t size, enum ring_origin origin,
                                struct caller c)
{
    int kept = errno;
    uint64_t words[3] = {0, size, sample_next()};
    struct thread *t;

    pymem_check();
    t = record_enter(c.sp);
    if (t) {
        words[0] = unwind_stack(t, c.pc, c.sp, c.rbp);
        buffer_now(t);
        sample_taken(p);
        buffer_put(t, buffer_word(RING_SAMPLE, origin, (uintptr_t)p), words, 3, NULL, 0);
        record_leave();
    }
    errno = kept;
}

/* The mode has changed, or this is the thread's first call. */
static OUTLINE void catch_up(size_t size)
{
    int kept = errno;

    if (!local.busy && process_ready()) {
        sample_sync(process_mode());
        if (local.mode == RING_SAMPLED)
            local.left -= (int64_t)size + 1;
    }
    errno = kept;
}

static inline void check_mode(size_t size)
{
    if (unlikely(local.mode != process_mode() || !local.synced))
        catch_up(size);
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

void event_record(const void *p, size_t size, enum ring_origin origin, uintptr_t pc, uintptr_t sp,
                  uintptr_t rbp)
{
    struct thread *t;

    if (unlikely(local.muted))
        return;
    check_mode(size);
    if (likely(local.mode == RING_EXACT)) {
        if (unlikely(!(++local.turns & 15)))
            pymem_check();
        t = record_enter(sp);
        if (unlikely(!t))
            return;
        put_alloc(t, p, size, origin, unwind_stack(t, pc, sp, rbp));
        record_leave();
    } else if (local.mode == RING_SAMPLED && local.left < 0) {
        take_sample(p, size, origin, (struct caller){pc, sp, rbp});
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

    if ((local.mode & ~RING_PAUSED) == RING_SAMPLED)
        sample_keep(p);
    t = record_enter(frame);
    if (!t)
        return;
    buffer_free(t, buffer_word(RING_UNFREE, 0, (uintptr_t)p));
    record_leave();
}
