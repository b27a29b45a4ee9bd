/* launches - see launches.h.
 *
 * A thread launches the same from the same place again and again: it counts by itself, in a small
 * table, and tells now and then. So most launches cost a comparison and an addition.
 */
#include "inject/launches.h"

#include "inject/launch_tell.h"
#include "inject/process.h"
#include "inject/record.h"
#include "inject/unwind.h"

#include <errno.h>
#include <string.h>

#define TELL_NS 100000000u /* how long a count may wait */

bool launches_wanted(void)
{
    return process.control->wants & RING_WANTS_LAUNCHES && !(process_mode() & RING_PAUSED);
}

/* What is launched, as its library names it, or else by the call. */
static void name(struct launch *e, const struct device_call *call, struct device_library *l)
{
    local.device++;
    if (call->named)
        call->named(l, e->kernel, e->name, sizeof(e->name) - 1);
    local.device--;
    if (!e->name[0])
        memcpy(e->name, call->name, strnlen(call->name, sizeof(e->name) - 1));
}

static struct launch *place_of(struct thread *t, uintptr_t pc, uintptr_t kernel)
{
    uint64_t h = (pc ^ kernel * 31) * 0x9e3779b97f4a7c15u;

    return &t->launches[h >> 32 & (THREAD_LAUNCHES - 1)];
}

static void add_given(struct launch *e, const struct arguments_sum *sum)
{
    e->given += sum->given;
    e->read += sum->read;
    e->written += sum->written;
}

static OUTLINE void begin(struct launch *e, const struct device_call *call,
                          struct device_library *l, uintptr_t kernel,
                          const struct arguments_sum *sum, struct caller c)
{
    int kept = errno;
    struct thread *t = record_enter(c.sp);

    if (t) {
        launch_tell(t, e);
        *e = (struct launch){.call = call,
                             .pc = c.pc,
                             .sp = c.sp,
                             .kernel = kernel,
                             .since = t->tick,
                             .count = 1,
                             .life = sum->life,
                             .session = t->session};
        e->stack = unwind_stack(t, c.pc, c.sp, c.fp);
        name(e, call, l);
        add_given(e, sum);
        record_leave();
    }
    errno = kept;
}

static OUTLINE void tell_now(struct launch *e, uint64_t tick, uintptr_t frame)
{
    int kept = errno;
    struct thread *t = record_enter(frame);

    if (t) {
        launch_tell(t, e);
        e->since = tick;
        record_leave();
    }
    errno = kept;
}

/* A thread's first one makes itself known, so that there is a table. */
static struct thread *thread_of(uintptr_t frame)
{
    struct thread *t = local.thread;

    if (likely(t && t->session == home.session))
        return t;
    t = record_enter(frame);
    if (t)
        record_leave();
    return t;
}

void launches_count(const struct device_call *call, struct device_library *l, const uintptr_t *a,
                    struct caller c)
{
    uintptr_t kernel = call->named ? a[call->handle] : 0;
    struct thread *t = thread_of(c.sp);
    struct arguments_sum sum = {0};
    struct launch *e;
    uint64_t tick;

    if (!t)
        return;
    if (call->given)
        call->given(kernel, &sum);
    e = place_of(t, c.pc, kernel);
    if (unlikely(e->session != t->session || e->pc != c.pc || e->sp != c.sp ||
                 e->kernel != kernel || e->call != call || e->life != sum.life)) {
        begin(e, call, l, kernel, &sum, c);
        return;
    }
    e->count++;
    add_given(e, &sum);
    tick = atomic_load_explicit(&process.control->tick, memory_order_relaxed);
    if (unlikely(tick - e->since > TELL_NS))
        tell_now(e, tick, c.sp);
}
