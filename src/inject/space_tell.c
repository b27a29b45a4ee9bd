/* space_tell - see space_tell.h. */
#include "inject/space_tell.h"

#include "inject/buffer.h"
#include "inject/process.h"
#include "inject/record.h"
#include "inject/sys.h"
#include "inject/unwind.h"

#include <errno.h>

static bool is_fresh(const struct space_told *e)
{
    return e->what == RING_SPACE_ALLOC || e->what == RING_SPACE_FAILED;
}

static struct thread *enter(bool fresh, uintptr_t frame)
{
    uint32_t mode = process_mode();
    struct thread *t = NULL;

    if ((mode & RING_PAUSED && fresh) || local.muted)
        return NULL;
    mode &= RING_MODES;
    local.quiet = 1; /* until the record is there */
    if (mode != RING_OFF && mode != RING_NO_HEAP)
        t = record_enter(frame);
    if (t)
        buffer_now(t);
    else
        local.quiet = 0;
    return t;
}

uint64_t space_now(void)
{
    return sys_silent ? 0 : sys_now_ns() - process.control->origin_ns;
}

/* What was refused is told with its stack wherever that is. */
static uint32_t stack_of(struct thread *t, const struct space_told *e, struct caller c)
{
    return e->what == RING_SPACE_FAILED ? unwind_stack(t, c.pc, c.sp, c.fp) : unwind_block(t, c);
}

void space_tell(const struct space_told *e, struct caller c)
{
    int kept = errno;
    struct thread *t = enter(is_fresh(e), c.sp);
    char text[SPACE_TEXT_MOST];
    size_t all = 0, first = 0;
    uint64_t words[6] = {e->handle, e->bytes, e->kind, e->when, e->owner, 0};

    if (t) {
        if (is_fresh(e))
            words[2] |= (uint64_t)stack_of(t, e, c) << 32;
        if (is_fresh(e) || e->what == RING_SPACE_ACCESS)
            first = e->name(text, e->context, &all);
        words[3] = words[3] ? words[3] : space_now();
        words[5] = (uint64_t)all << 32 | first;
        buffer_put(t, buffer_word(RING_SPACE, e->class << 3 | e->what, 0), words, 6, text, all);
        record_leave();
        local.quiet = 0;
    }
    errno = kept;
}
