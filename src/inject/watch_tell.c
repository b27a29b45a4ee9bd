/* watch_tell - see watch_tell.h. */
#include "inject/watch_tell.h"

#include "inject/buffer.h"
#include "inject/context.h"
#include "inject/process.h"
#include "inject/record.h"
#include "inject/unwind.h"

#include <errno.h>
#include <string.h>

#define LENGTH_MOST 28  /* bits */
#define LENGTH_SHIFT 36 /* above the stack's number */

static uint64_t value_of(const struct watch_told *w, struct thread *t, struct caller c)
{
    uint64_t stack = !w->stacked    ? 0
                   : w->interrupted ? unwind_interrupted(t, c.pc, c.sp, c.fp)
                                    : unwind_stack(t, c.pc, c.sp, c.fp);
    uint64_t most = (1ull << LENGTH_MOST) - 1;

    if (w->kind == RING_WATCH_WRITTEN || w->kind == RING_WATCH_COMMAND)
        return (w->number < most ? w->number : most) << LENGTH_SHIFT | stack << 4 | w->kind;
    return (w->kind == RING_WATCH_CHANGED ? stack : w->number) << 4 | w->kind;
}

bool watch_put(const struct watch_told *w, struct caller c)
{
    size_t bytes = w->text ? strnlen(w->text, WATCHED_NAME_MOST) : 0;
    uint64_t words[2] = {0, (uint64_t)bytes << 32 | bytes};
    uint8_t quiet = local.quiet;
    int kept = errno;
    struct thread *t;

    local.quiet = 1;
    t = process_recorded() && !local.ended ? record_enter(c.sp) : NULL;
    if (t) {
        words[0] = value_of(w, t, c);
        if (t->labels_untold)
            context_tell(t);
        buffer_moment(t);
        buffer_put(t, buffer_word(RING_MARK, RING_MARK_WATCH, w->address), words, 2, w->text,
                   bytes);
        record_leave();
    }
    local.quiet = quiet;
    errno = kept;
    return t;
}

void watch_tell(enum ring_watch kind, uint64_t number, uintptr_t address, const char *text,
                struct caller c)
{
    const struct watch_told told = {.kind = kind,
                                    .number = number,
                                    .address = address,
                                    .text = text,
                                    .stacked = kind == RING_WATCH_COMMAND};

    watch_put(&told, c);
}
