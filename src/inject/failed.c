/* failed - see failed.h. A program that asks in vain again and again is told of the first times,
 * and then of one in so many, which stands for the others.
 */
#include "inject/failed.h"

#include "inject/buffer.h"
#include "inject/event.h"
#include "inject/record.h"
#include "inject/sys.h"
#include "inject/unwind.h"

#include <errno.h>
#include <string.h>

#define EACH 1000 /* are told, and from then on one in so many */

static _Atomic uint64_t count;

/* How many this one stands for; 0: another one does for it. */
static uint64_t times_now(void)
{
    uint64_t n = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;

    return n <= EACH ? 1 : n % EACH == 0 ? EACH : 0;
}

/* What is freed for want of this comes after it, in the trace as well. */
static void put(struct thread *t, const char *call, size_t bytes, int status, struct caller c)
{
    size_t text = strlen(call);
    uint64_t words[6] = {times_now(), bytes};

    if (!words[0])
        return;
    words[2] = (uint64_t)unwind_stack(t, c.pc, c.sp, c.fp) << 32;
    words[4] = (uint64_t)(unsigned int)status;
    words[5] = (uint64_t)text << 32;
    if (sys_silent) /* a clock may ask the kernel */
        buffer_now(t);
    else
        buffer_moment(t);
    buffer_put(t, buffer_word(RING_SPACE, RING_SPACE_FAILED, 0), words, 6, call, text);
    buffer_after(t);
}

void failed_tell(const char *call, size_t bytes, int status, struct caller c)
{
    int kept = errno;
    uint32_t mode = process_mode();
    struct thread *t;

    if (status != ENOMEM || local.muted ||
        (!mode_is_sampled(mode) && (mode & ~RING_OUTSIDE) != RING_EXACT))
        return;
    local.quiet++; /* there is no memory for others either */
    t = record_enter(c.sp);
    if (t) {
        put(t, call, bytes, status, c);
        record_leave();
    }
    local.quiet--;
    errno = kept;
}

void failed_alloc(const char *call, size_t bytes, int status, struct caller c)
{
    event_failed();
    failed_tell(call, bytes, status, c);
}
