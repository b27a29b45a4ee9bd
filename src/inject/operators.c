/* operators - see operators.h.
 *
 * A new that fails throws, through our frame: whoever unwinds it is told to call us, so that the
 * thread does not stay muted. The countdown stays as the allocator has left it then.
 */
#include "inject/operators.h"
#include "inject/objects.h"

#include "inject/elf.h"
#include "inject/event.h"
#include "inject/failed.h"
#include "inject/mute.h"
#include "inject/outside.h"
#include "inject/real.h"

#include <dlfcn.h>
#include <errno.h>

typedef void *new_function(size_t, uintptr_t, uintptr_t);
typedef void delete_function(void *, uintptr_t, uintptr_t);

static _Atomic uintptr_t reals[OPERATORS];

/* As the ABI of C++ has it: in the second phase frames are left. We catch nothing. */
#define CLEANUP_PHASE 2
#define CONTINUE_UNWIND 8

int operators_unwound(int version, int actions, uint64_t kind, void *exception, void *context)
    __attribute__((visibility("hidden")));

int operators_unwound(int version, int actions, uint64_t kind, void *exception, void *context)
{
    (void)version, (void)kind, (void)exception, (void)context;
    if (actions & CLEANUP_PHASE)
        local.muted--;
    return CONTINUE_UNWIND;
}

#define TELL_US_OF_UNWINDING() __asm__ volatile(".cfi_personality 0x1b, operators_unwound")

/* What follows the size or the block, an alignment or a constant, is handed on as it came. */
static inline void *take(size_t k, size_t size, uintptr_t a, uintptr_t b, enum ring_origin origin,
                         struct caller c)
{
    bool skip = event_skip_alloc(size);
    int64_t left = local.left;
    void *p;

    local.muted++;
    p = ((new_function *)reals[k])(size, a, b);
    local.muted--;
    local.left = left;
    if (likely(skip))
        return p;
    if (p)
        event_alloc(p, size, origin, c);
    else
        failed_alloc("operator new", size, ENOMEM, c);
    return p;
}

static inline void give_back(size_t k, void *p, uintptr_t a, uintptr_t b, struct caller c)
{
    int64_t left;

    if (p && !event_skip_free(p))
        event_free(p, RING_BY_MALLOC, c.sp);
    left = mute_begin();
    ((delete_function *)reals[k])(p, a, b);
    mute_end(left);
}

#define NEW(k, origin)                                                                             \
    static void *new_##k(size_t size, uintptr_t a, uintptr_t b)                                    \
    {                                                                                              \
        TELL_US_OF_UNWINDING();                                                                    \
        return take(k, size, a, b, origin, CALLER());                                              \
    }
#define DELETE(k)                                                                                  \
    static void delete_##k(void *p, uintptr_t a, uintptr_t b)                                      \
    {                                                                                              \
        give_back(k, p, a, b, CALLER());                                                           \
    }

NEW(0, RING_BY_MALLOC)
NEW(1, RING_BY_MALLOC)
NEW(2, RING_BY_MALLOC)
NEW(3, RING_BY_MALLOC)
NEW(4, RING_BY_ALIGNED)
NEW(5, RING_BY_ALIGNED)
NEW(6, RING_BY_ALIGNED)
NEW(7, RING_BY_ALIGNED)
DELETE(8)
DELETE(9)
DELETE(10)
DELETE(11)
DELETE(12)
DELETE(13)
DELETE(14)
DELETE(15)
DELETE(16)
DELETE(17)
DELETE(18)
DELETE(19)

#define HOOK(text, function)                                                                       \
    {                                                                                              \
        .name = (text), .ours = (uintptr_t)(function), .first = true                               \
    }
const struct got_hook operators_hooks[OPERATORS] = {
    HOOK("_Znwm", new_0),
    HOOK("_Znam", new_1),
    HOOK("_ZnwmRKSt9nothrow_t", new_2),
    HOOK("_ZnamRKSt9nothrow_t", new_3),
    HOOK("_ZnwmSt11align_val_t", new_4),
    HOOK("_ZnamSt11align_val_t", new_5),
    HOOK("_ZnwmSt11align_val_tRKSt9nothrow_t", new_6),
    HOOK("_ZnamSt11align_val_tRKSt9nothrow_t", new_7),
    HOOK("_ZdlPv", delete_8),
    HOOK("_ZdaPv", delete_9),
    HOOK("_ZdlPvm", delete_10),
    HOOK("_ZdaPvm", delete_11),
    HOOK("_ZdlPvRKSt9nothrow_t", delete_12),
    HOOK("_ZdaPvRKSt9nothrow_t", delete_13),
    HOOK("_ZdlPvSt11align_val_t", delete_14),
    HOOK("_ZdaPvSt11align_val_t", delete_15),
    HOOK("_ZdlPvmSt11align_val_t", delete_16),
    HOOK("_ZdaPvmSt11align_val_t", delete_17),
    HOOK("_ZdlPvSt11align_val_tRKSt9nothrow_t", delete_18),
    HOOK("_ZdaPvSt11align_val_tRKSt9nothrow_t", delete_19),
};

/* Only those that the whole program is bound to, and that are the allocator's. dlsym is not asked
 * for what that does not have: in vain, it allocates, and leaves an error behind for the program's
 * dlerror.
 */
bool operators_start(void)
{
    const void *allocator = outside_object((uintptr_t)real.malloc);
    bool any = false;
    struct elf e;

    if (!allocator || !elf_open(&e, allocator))
        return false;
    for (size_t i = 0; i < OPERATORS; i++) {
        const char *name = operators_hooks[i].name;
        uintptr_t found = elf_find(&e, name) ? (uintptr_t)real_now()->dlsym(RTLD_DEFAULT, name) : 0;
        struct object o;

        if (!found || !objects_find((const void *)found, &o) || o.map != allocator)
            continue;
        atomic_store(&reals[i], found);
        any = true;
    }
    return any;
}

uintptr_t operators_real(size_t i)
{
    return atomic_load(&reals[i]);
}
