/* copies - see copies.h. Both ways of a hook end with a jump to the real function, so that CALLER()
 * is the program's frame, and none of ours stands on a stack that is sampled in a copy.
 */
#include "inject/copies.h"

#include "inject/buffer.h"
#include "inject/process.h"
#include "inject/real.h"
#include "inject/record.h"
#include "inject/sample.h"
#include "inject/unwind.h"

#include <errno.h>

#define MEAN (1u << 20) /* bytes */

typedef void *copy_function(void *, const void *, size_t);
typedef void *checked_function(void *, const void *, size_t, size_t);

static struct {
    copy_function *memcpy, *memmove, *mempcpy;
    checked_function *memcpy_chk, *memmove_chk, *mempcpy_chk;
} reals;

static __thread int64_t left __attribute__((tls_model("initial-exec"))); /* to the next sample */
static __thread uint8_t drawn __attribute__((tls_model("initial-exec")));

static void draw(void)
{
    left = (int64_t)(sample_exponential() * MEAN) + 1;
    drawn = 1;
}

static inline bool skip(size_t size)
{
    left = (int64_t)((uint64_t)left - size - 1);
    return likely(left >= 0);
}

/* A copy may stand anywhere, also inside another allocator: nothing here may call it. */
static void put(size_t size, struct caller c)
{
    uint32_t mode = process_mode();
    uint64_t words[3] = {0, size, MEAN};
    uint8_t quiet = local.quiet;
    struct thread *t;

    if (mode == RING_OFF || mode & RING_PAUSED)
        return;
    local.quiet = 1;
    t = record_enter(c.sp);
    if (t) {
        words[0] = unwind_stack(t, c.pc, c.sp, c.fp);
        buffer_now(t);
        buffer_put(t, RING_COPY, words, 3, NULL, 0);
        record_leave();
    }
    local.quiet = quiet;
}

/* The countdown has passed zero, or the thread is new. */
static OUTLINE void take(size_t size, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    int kept = errno;

    if (!drawn) {
        draw();
        if (skip(size))
            return;
    }
    draw();
    put(size, (struct caller){pc, sp, fp});
    errno = kept;
}

#define TAKE(size)                                                                                 \
    do {                                                                                           \
        struct caller c = CALLER();                                                                \
                                                                                                   \
        take(size, c.pc, c.sp, c.fp);                                                              \
    } while (0)

#define COPY(name)                                                                                 \
    static OUTLINE void *name##_taken(void *to, const void *from, size_t size)                     \
    {                                                                                              \
        TAKE(size);                                                                                \
        return reals.name(to, from, size);                                                         \
    }                                                                                              \
                                                                                                   \
    static void *our_##name(void *to, const void *from, size_t size)                               \
    {                                                                                              \
        return skip(size) ? reals.name(to, from, size) : name##_taken(to, from, size);             \
    }

#define CHECKED(name)                                                                              \
    static OUTLINE void *name##_taken(void *to, const void *from, size_t size, size_t room)        \
    {                                                                                              \
        TAKE(size);                                                                                \
        return reals.name(to, from, size, room);                                                   \
    }                                                                                              \
                                                                                                   \
    static void *our_##name(void *to, const void *from, size_t size, size_t room)                  \
    {                                                                                              \
        return skip(size) ? reals.name(to, from, size, room) : name##_taken(to, from, size, room); \
    }

COPY(memcpy)
COPY(memmove)
COPY(mempcpy)
CHECKED(memcpy_chk)
CHECKED(memmove_chk)
CHECKED(mempcpy_chk)

const struct got_hook copies_hooks[COPIES_HOOKS] = {
    {.name = "memcpy", .ours = (uintptr_t)our_memcpy},
    {.name = "memmove", .ours = (uintptr_t)our_memmove},
    {.name = "mempcpy", .ours = (uintptr_t)our_mempcpy},
    {.name = "__memcpy_chk", .ours = (uintptr_t)our_memcpy_chk},
    {.name = "__memmove_chk", .ours = (uintptr_t)our_memmove_chk},
    {.name = "__mempcpy_chk", .ours = (uintptr_t)our_mempcpy_chk},
};

uintptr_t copies_real(size_t hook)
{
    const uintptr_t found[COPIES_HOOKS] = {
        (uintptr_t)reals.memcpy,     (uintptr_t)reals.memmove,     (uintptr_t)reals.mempcpy,
        (uintptr_t)reals.memcpy_chk, (uintptr_t)reals.memmove_chk, (uintptr_t)reals.mempcpy_chk};

    return found[hook];
}

/* The loader's answer is what the program's tables hold: it asks libc which one suits this CPU. */
bool copies_start(void)
{
    void *(*find)(void *, const char *) = real_now()->dlsym;

    if (!process_recorded() || !(process.control->wants & RING_WANTS_COPIES))
        return false;
    reals.memcpy = (copy_function *)find(RTLD_DEFAULT, "memcpy");
    reals.memmove = (copy_function *)find(RTLD_DEFAULT, "memmove");
    reals.mempcpy = (copy_function *)find(RTLD_DEFAULT, "mempcpy");
    reals.memcpy_chk = (checked_function *)find(RTLD_DEFAULT, "__memcpy_chk");
    reals.memmove_chk = (checked_function *)find(RTLD_DEFAULT, "__memmove_chk");
    reals.mempcpy_chk = (checked_function *)find(RTLD_DEFAULT, "__mempcpy_chk");
    return true;
}
