/* maps - memory that the program takes from the kernel itself: mmap, munmap, mremap, mprotect, brk,
 * sbrk.
 *
 * These are rare and expensive, so all of them are recorded in either mode. Same order as in
 * hooks.c: a map after it exists, an unmap before it goes; an unmap that failed is taken back. The
 * maps of malloc itself and of the loader do not pass through here: they are libc's own calls.
 *
 * Memory that nobody may touch (PROT_NONE) is opened by mprotect later, so that is recorded as
 * well, from the first time on that a program closes something.
 */
#include "inject/maps.h"

#include "inject/buffer.h"
#include "inject/event.h"
#include "inject/failed.h"
#include "inject/real.h"
#include "inject/record.h"
#include "inject/sys.h"
#include "inject/unwind.h"
#include "inject/watching.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset);

static struct thread *enter(uintptr_t frame)
{
    uint32_t mode = process_mode() & RING_MODES;
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

/* Which of two maps at one address came first: ticks of exact recordings do not tell, others are
 * the time as it was when we entered. 0: a clock may ask the kernel.
 */
static uint64_t time_now(const struct thread *t)
{
    if (sys_silent)
        return 0;
    return mode_is_exact(process_mode()) ? sys_now_ns() - process.control->origin_ns : t->tick;
}

struct what { /* was mapped */
    enum ring_map kind;
    uint64_t object;
};

static void put_map(const void *at, size_t length, int protection, struct what what,
                    struct caller c)
{
    int kept = errno;
    struct thread *t = process_mode() & RING_PAUSED ? NULL : enter(c.sp);
    uint64_t words[4] = {length, (uint64_t)(unsigned int)protection & 0xff, what.object};

    if (t) {
        words[1] |= (uint64_t)unwind_block(t, c) << 32;
        words[3] = time_now(t);
        buffer_put(t, buffer_word(RING_MAP, what.kind, (uintptr_t)at), words, 4, NULL, 0);
        leave();
    }
    errno = kept;
}

static void put_unmap(enum ring_kind kind, const void *at, size_t length, uintptr_t frame)
{
    int kept = errno;
    struct thread *t = enter(frame);
    uint64_t words[2] = {length, 0};

    if (t) {
        words[1] = time_now(t);
        buffer_put(t, buffer_word(kind, 0, (uintptr_t)at), words, 2, NULL, 0);
        leave();
    }
    errno = kept;
}

/* ---- what it is ---- */

static atomic_bool closed_any; /* there is memory that nobody may touch yet */

static bool is_memory(int fd)
{
    struct statfs fs = {0};

    return !sys_failed(sys_call(SYS_fstatfs, fd, (long)&fs, 0, 0, 0, 0)) &&
           ((unsigned long)fs.f_type == TMPFS_MAGIC || (unsigned long)fs.f_type == HUGETLBFS_MAGIC);
}

/* A number for the file, the same in every process. */
static uint64_t object_of(int fd)
{
    struct stat s = {0};

    if (sys_failed(sys_call(SYS_fstat, fd, (long)&s, 0, 0, 0, 0)))
        return 0;
    return ((uint64_t)s.st_dev * 0x9e3779b97f4a7c15u ^ (uint64_t)s.st_ino) | 1ull << 63;
}

static struct what what_of(int flags, int fd)
{
    bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;

    if (local.muted)
        return (struct what){RING_MAP_ARENA, 0};
    if (flags & MAP_ANONYMOUS)
        return (struct what){shared                  ? RING_MAP_SHARED
                             : flags & MAP_NORESERVE ? RING_MAP_RESERVED
                                                     : RING_MAP_ANONYMOUS,
                             0};
    return shared && is_memory(fd) ? (struct what){RING_MAP_SHARED, object_of(fd)}
                                   : (struct what){RING_MAP_FILE, 0};
}

void maps_shared(const void *at, size_t length, uint64_t object, struct caller c)
{
    put_map(at, length, PROT_READ | PROT_WRITE, (struct what){RING_MAP_SHARED, object}, c);
}

void maps_gone(const void *at, size_t length, uintptr_t frame)
{
    put_unmap(RING_UNMAP, at, length, frame);
}

/* ---- arenas that were mapped before they were known to be such ---- */

#define EARLY 16
#define FUNCTION_MOST 512 /* bytes of code: from its start to the call */

static struct {
    const void *at;
    size_t length;
    uintptr_t pc;
} early[EARLY];
static _Atomic unsigned int early_count;

static void note_early(const void *at, size_t length, uintptr_t pc)
{
    unsigned int i = atomic_load_explicit(&early_count, memory_order_relaxed);

    if (i >= EARLY || (i = atomic_fetch_add(&early_count, 1)) >= EARLY)
        return;
    early[i].at = at;
    early[i].length = length;
    early[i].pc = pc;
}

void maps_are_arenas(uintptr_t function)
{
    unsigned int count = atomic_exchange(&early_count, EARLY);

    for (unsigned int i = 0; i < count && i < EARLY; i++)
        if (early[i].pc - function < FUNCTION_MOST)
            put_map(early[i].at, early[i].length, PROT_READ | PROT_WRITE,
                    (struct what){RING_MAP_ARENA, 0}, CALLER());
}

/* ---- the hooks ---- */

static void mapped(const void *p, size_t length, int protection, struct what what, struct caller c)
{
    if (!(protection & (PROT_READ | PROT_WRITE | PROT_EXEC)))
        atomic_store_explicit(&closed_any, true, memory_order_relaxed);
    if (what.kind == RING_MAP_ANONYMOUS)
        note_early(p, length, c.pc);
    put_map(p, length, protection, what, c);
}

static inline __attribute__((always_inline)) void *map(void *at, size_t length, int protection,
                                                       int flags, int fd, off_t offset,
                                                       struct caller c)
{
    void *p;

    if (flags & MAP_FIXED)
        watching_freed(at, length, c);
    p = real_now()->mmap(at, length, protection, flags, fd, offset);

    if (p != MAP_FAILED)
        mapped(p, length, protection, what_of(flags, fd), c);
    else
        failed_tell("mmap", length, errno, c);
    return p;
}

EXPORT void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    return map(at, length, protection, flags, fd, offset, CALLER());
}

EXPORT void *mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    return map(at, length, protection, flags, fd, offset, CALLER());
}

EXPORT int munmap(void *at, size_t length)
{
    int result;

    watching_freed(at, length, CALLER());
    put_unmap(RING_UNMAP, at, length, CALLER().sp);
    result = real_now()->munmap(at, length);
    if (result)
        put_unmap(RING_UNUNMAP, at, length, CALLER().sp);
    return result;
}

EXPORT int mprotect(void *at, size_t length, int protection)
{
    bool closes = !(protection & (PROT_READ | PROT_WRITE | PROT_EXEC));
    int result;

    if (guard_any())
        guard_release((uintptr_t)at, length, RING_WHY_TAKEN);
    result = real_now()->mprotect(at, length, protection);
    if (result || local.muted ||
        (!closes && !atomic_load_explicit(&closed_any, memory_order_relaxed)))
        return result;
    mapped(at, length, protection, (struct what){RING_MAP_PROTECTED, 0}, CALLER());
    return result;
}

/* What may not be moved lacks room beside it, as who asks so expects. */
static void not_moved(const void *old, size_t old_length, size_t length, int flags, struct caller c)
{
    put_unmap(RING_UNUNMAP, old, old_length, c.sp);
    if (flags & MREMAP_MAYMOVE)
        failed_tell("mremap", length, errno, c);
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
    watching_freed(old, old_length, CALLER());
    put_unmap(RING_UNMAP, old, old_length, CALLER().sp);
    p = real_now()->mremap(old, old_length, length, flags, at);
    if (p != MAP_FAILED)
        put_map(p, length, 0, (struct what){RING_MAP_MOVED, 0}, CALLER());
    else
        not_moved(old, old_length, length, flags, CALLER());
    return p;
}

/* The program's own part of what lies below the break: malloc's is moved by libc itself. */
static void put_break(uintptr_t from, uintptr_t to, struct caller c)
{
    if (to > from)
        put_map((const void *)from, to - from, PROT_READ | PROT_WRITE,
                what_of(MAP_PRIVATE | MAP_ANONYMOUS, -1), c);
    else if (to < from)
        put_unmap(RING_UNMAP, (const void *)to, from - to, c.sp);
}

EXPORT int brk(void *end)
{
    long from = sys_call(SYS_brk, 0, 0, 0, 0, 0, 0);
    int result = real_now()->brk(end);

    if (!result && !sys_failed(from))
        put_break((uintptr_t)from, (uintptr_t)end, CALLER());
    return result;
}

EXPORT void *sbrk(intptr_t by)
{
    void *p = real_now()->sbrk(by);

    if (by && p != (void *)-1)
        put_break((uintptr_t)p, (uintptr_t)p + (uintptr_t)by, CALLER());
    return p;
}
