/* where - see where.h. Code is read only where the loader has put it: that is mapped and readable.
 */
#include "inject/where.h"
#include "inject/objects.h"

#include "arch/arch.h"
#include "inject/cfi.h"
#include "inject/python.h"
#include "inject/real.h"

#include <dlfcn.h>
#include <string.h>

static uintptr_t copy_low, copy_high; /* of the memmove in use, which is memcpy as well */

void where_start(void)
{
    if (real.memmove && cfi_extent((uintptr_t)real.memmove, &copy_low, &copy_high))
        return;
    copy_low = copy_high = 0;
}

static bool is_known(uintptr_t pc)
{
    struct object o;

    return objects_find((const void *)pc, &o);
}

bool where_after_call(uintptr_t pc)
{
    return pc % ARCH_PAGE_LEAST >= ARCH_SYSTEM_CALL_BYTES && is_known(pc) &&
           arch_is_system_call((const char *)pc - ARCH_SYSTEM_CALL_BYTES);
}

bool where_at_call(uintptr_t pc)
{
    return pc % ARCH_PAGE_LEAST <= ARCH_PAGE_LEAST - ARCH_SYSTEM_CALL_BYTES && is_known(pc) &&
           arch_is_system_call((const char *)pc);
}

/* We are, while a hook passes a call on. */
static bool is_ours(const struct link_map *map)
{
    const char *base = strrchr(map->l_name, '/');

    return !strncmp(base ? base + 1 : map->l_name, "libtidemark.", 12);
}

/* What the interpreter does for an instruction is Python's; what a function does that it calls is
 * not, even if that is a part of the interpreter. Nor is what libc does, whoever calls it: x + x
 * copies the same bytes in the same way as x.__add__(x).
 */
static bool is_python(struct thread *t, uintptr_t pc, const struct link_map *map)
{
    struct python_place p = python_place(t, pc);

    if (!p.python)
        return false;
    return p.in_eval || (!p.calling && (p.in_module || (map && is_ours(map))));
}

unsigned int where_kind(struct thread *t, uintptr_t pc)
{
    struct object o;
    bool known = objects_find((const void *)pc, &o);
    unsigned int copies = pc >= copy_low && pc < copy_high ? RING_CPU_COPY : 0u;

    if (where_after_call(pc) || where_at_call(pc)) /* there when the call is made again */
        return RING_CPU_SYSTEM;
    return copies | (is_python(t, pc, known ? o.map : NULL) ? RING_CPU_PYTHON : RING_CPU_NATIVE);
}
