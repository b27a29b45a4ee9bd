/* maps - memory that the program takes from the kernel itself: mmap, munmap, mremap, brk, sbrk.
 *
 * These are rare and dear, so all of them are recorded in either mode. Same order as in hooks.c: a
 * map after it exists, an unmap before it goes; an unmap that failed is taken back. The maps of
 * malloc itself and of the loader do not pass through here: they are libc's own calls.
 */
#include "inject/buffer.h"
#include "inject/event.h"
#include "inject/real.h"
#include "inject/sys.h"
#include "inject/unwind.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset);

static struct thread *enter(uintptr_t frame)
{
    uint32_t mode = process_mode() & ~RING_PAUSED;
    struct thread *t = NULL;

    local.quiet = 1; /* until leave */
    if (mode != RING_OFF && mode != RING_NO_HEAP)
        t = record_enter(frame);
    if (t)
        buffer_now(t);
    else
        local.quiet = 0;
    return t;
}

static void leave(void)
{
    record_leave();
    local.quiet = 0;
}

static void put_map(const void *at, size_t length, int protection, unsigned int aux,
                    struct caller c)
{
    int kept = errno;
    struct thread *t = process_mode() & RING_PAUSED ? NULL : enter(c.sp);
    uint64_t words[2] = {length, (uint64_t)(unsigned int)protection & 0xff};

    if (t) {
        words[1] |= (uint64_t)unwind_stack(t, c.pc, c.sp, c.rbp) << 32;
        buffer_put(t, buffer_word(RING_MAP, aux, (uintptr_t)at), words, 2, NULL, 0);
        leave();
    }
    errno = kept;
}

static void put_unmap(enum ring_kind kind, const void *at, size_t length, uintptr_t frame)
{
    int kept = errno;
    struct thread *t = enter(frame);
    uint64_t words[1] = {length};

    if (t) {
        buffer_put(t, buffer_word(kind, 0, (uintptr_t)at), words, 1, NULL, 0);
        leave();
    }
    errno = kept;
}

static unsigned int sort_of(int flags)
{
    if (local.muted)
        return RING_MAP_ARENA;
    return flags & MAP_ANONYMOUS ? RING_MAP_ANONYMOUS : RING_MAP_FILE;
}

EXPORT void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    void *p = real_now()->mmap(at, length, protection, flags, fd, offset);

    if (p != MAP_FAILED)
        put_map(p, length, protection, sort_of(flags), CALLER());
    return p;
}

EXPORT void *mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    void *p = real_now()->mmap(at, length, protection, flags, fd, offset);

    if (p != MAP_FAILED)
        put_map(p, length, protection, sort_of(flags), CALLER());
    return p;
}

EXPORT int munmap(void *at, size_t length)
{
    int result;

    put_unmap(RING_UNMAP, at, length, CALLER().sp);
    result = real_now()->munmap(at, length);
    if (result)
        put_unmap(RING_UNUNMAP, at, length, CALLER().sp);
    return result;
}

EXPORT void *mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
    void *p, *at = NULL;
    va_list list;

    if (flags & MREMAP_FIXED) {
        va_start(list, flags);
        at = va_arg(list, void *);
        va_end(list);
    }
    put_unmap(RING_UNMAP, old, old_length, CALLER().sp);
    p = real_now()->mremap(old, old_length, length, flags, at);
    if (p != MAP_FAILED)
        put_map(p, length, 0, RING_MAP_MOVED, CALLER());
    else
        put_unmap(RING_UNUNMAP, old, old_length, CALLER().sp);
    return p;
}

static void put_break(struct caller c)
{
    int kept = errno;
    struct thread *t = process_mode() & RING_PAUSED ? NULL : enter(c.sp);
    uint64_t words[1];
    long end;

    if (t) {
        end = sys_call(SYS_brk, 0, 0, 0, 0, 0, 0);
        words[0] = unwind_stack(t, c.pc, c.sp, c.rbp);
        if (!sys_failed(end))
            buffer_put(t, buffer_word(RING_BREAK, 0, (uintptr_t)end), words, 1, NULL, 0);
        leave();
    }
    errno = kept;
}

EXPORT int brk(void *end)
{
    int result = real_now()->brk(end);

    if (!result)
        put_break(CALLER());
    return result;
}

EXPORT void *sbrk(intptr_t by)
{
    void *p = real_now()->sbrk(by);

    if (by && p != (void *)-1)
        put_break(CALLER());
    return p;
}
