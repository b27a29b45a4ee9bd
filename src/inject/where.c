/* where - see where.h. Code is read only where the loader has put it: that is mapped and readable. */
#include "inject/where.h"

#include "inject/cfi.h"
#include "inject/python.h"
#include "inject/real.h"

#include <dlfcn.h>
#include <string.h>

#define PAGE 4096u
#define SYSCALL "\x0f\x05"

static uintptr_t copy_low, copy_high; /* of the memmove in use, which is memcpy as well */

void where_start(void)
{
    if (real.memmove && cfi_extent((uintptr_t)real.memmove, &copy_low, &copy_high))
        return;
    copy_low = copy_high = 0;
}

static bool is_known(uintptr_t pc)
{
    struct dl_find_object o;

    return _dl_find_object((void *)pc, &o) == 0;
}

bool where_after_call(uintptr_t pc)
{
    return pc % PAGE >= 2 && is_known(pc) && !memcmp((const char *)pc - 2, SYSCALL, 2);
}

bool where_at_call(uintptr_t pc)
{
    return pc % PAGE <= PAGE - 2 && is_known(pc) && !memcmp((const char *)pc, SYSCALL, 2);
}

/* Libraries that the interpreter itself works with. We are one while a hook passes a call on. */
static bool is_common(const struct link_map *map)
{
    static const char *const names[] = {"libc.so.", "libm.so.", "ld-linux-", "linux-vdso.",
                                        "libtidemark."};
    const char *base = strrchr(map->l_name, '/');

    base = base ? base + 1 : map->l_name;
    for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(base, names[i], strlen(names[i])))
            return true;
    return false;
}

/* What the interpreter does for an instruction is Python's; what a function does that it calls is
 * not, even if that is a part of the interpreter.
 */
static bool is_python(struct thread *t, uintptr_t pc, const struct link_map *map)
{
    struct python_place p = python_place(t, pc);

    if (!p.python)
        return false;
    return p.in_eval || (!p.calling && (p.in_module || (map && is_common(map))));
}

unsigned int where_sort(struct thread *t, uintptr_t pc)
{
    struct dl_find_object o;
    bool known = _dl_find_object((void *)pc, &o) == 0;
    unsigned int copies = pc >= copy_low && pc < copy_high ? RING_CPU_COPY : 0u;

    if (where_after_call(pc) || where_at_call(pc)) /* there when the call is made again */
        return RING_CPU_SYSTEM;
    return copies |
           (is_python(t, pc, known ? o.dlfo_link_map : NULL) ? RING_CPU_PYTHON : RING_CPU_NATIVE);
}
