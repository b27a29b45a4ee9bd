/* pages - see pages.h. */
#include "inject/pages.h"

#include "arch/arch.h"
#include "inject/glimpse.h"
#include "inject/sys.h"

#include <linux/futex.h>
#include <stdatomic.h>

static uintptr_t page_of(uintptr_t at)
{
    return at & ~(uintptr_t)(ARCH_PAGE_LEAST - 1);
}

bool pages_load(const struct elf *e, uintptr_t at, uintptr_t *out)
{
    struct glimpse g = {{0}};

    if (at & 7 || elf_rights(e, at) < 0 ||
        (glimpse_allowed() && !glimpse_read(&g, at, out, sizeof(*out))))
        return false;
    *out = atomic_load_explicit((_Atomic uintptr_t *)at, memory_order_relaxed);
    return true;
}

/* Add nothing to the word, as a step of a futex: the kernel tells whether it may be written to. */
static bool is_writable(const struct elf *e, uintptr_t at)
{
    long result = sys_call(SYS_futex, (long)at, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, (long)at,
                           FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0));

    if (sys_failed(result) && result != -EFAULT)
        return elf_rights(e, at) & PROT_WRITE;
    return !sys_failed(result);
}

static bool protect(uintptr_t page, int rights)
{
    return !sys_failed(sys_call(SYS_mprotect, (long)page, ARCH_PAGE_LEAST, rights, 0, 0, 0));
}

void pages_done(struct pages *p)
{
    if (p->at)
        protect(p->at, p->rights);
    p->at = 0;
}

bool pages_store(struct pages *p, const struct elf *e, uintptr_t at, uintptr_t value)
{
    if (p->at != page_of(at))
        pages_done(p);
    if (!p->at && !is_writable(e, at)) {
        int rights = elf_rights(e, at) & ~PROT_WRITE;

        if (!protect(page_of(at), rights | PROT_WRITE))
            return false;
        *p = (struct pages){page_of(at), rights};
    }
    atomic_store_explicit((_Atomic uintptr_t *)at, value, memory_order_release);
    return true;
}
