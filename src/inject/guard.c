/* guard - see guard.h. */
#include "inject/guard.h"

#include "arch/arch.h"
#include "inject/state.h"
#include "inject/sys.h"

#include <linux/futex.h>
#include <stdatomic.h>

#define PAGE ARCH_PAGE_MOST
#define TRIES 2000         /* of 50 us each: who has it may be stopped, or have forked */
#define OPEN_NS 200000u    /* after which it is closed where somebody passes by */
#define OPEN_MOST 1024     /* pages at one time: each may be a mapping of its own to the kernel */
#define FAULTS_MOST 16384u /* between two times that all are closed; then all of it is opened */

static struct guard {
    _Atomic uintptr_t low, high; /* pages; equal: it keeps none */
    int rights;                  /* that they have else */
    _Atomic int lost;            /* enum ring_why */
    _Atomic uint32_t pinned;     /* calls that write there now */
    _Atomic uint32_t opened;     /* since it was closed */
    _Atomic int pages;           /* that are open, as far as they were opened one by one */
    _Atomic uint64_t opened_ns;
    _Atomic bool touched; /* since guard_close was asked */
} guards[GUARDS];

static _Atomic uint32_t used;
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest; /* of all there ever were */
static _Atomic bool taken;
static _Atomic uint32_t owner; /* process.forks of whose they are */

static bool (*ready)(void);

void guard_while(bool (*is_ready)(void))
{
    ready = is_ready;
}

/* ---- the lock: no handler of the program's may run while it is held ---- */

static uint64_t lock(void)
{
    uint64_t all = UINT64_MAX, before = 0;

    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, 8, 0, 0);
    for (int tries = TRIES; atomic_exchange(&taken, true) && --tries;)
        sys_pause_us(50);
    return before;
}

static void unlock(uint64_t before)
{
    atomic_store(&taken, false);
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0);
}

/* ---- one of them ---- */

static bool protect(uintptr_t low, uintptr_t high, int rights)
{
    return !sys_failed(sys_call(SYS_mprotect, (long)low, (long)(high - low), rights, 0, 0, 0));
}

/* What ends beyond the last address ends there. */
static bool meets(uintptr_t low, uintptr_t high, uintptr_t address, size_t bytes)
{
    uintptr_t end = address + bytes < address ? UINTPTR_MAX : address + bytes;

    return address < high && low < end;
}

static bool holds(const struct guard *g, uintptr_t address, size_t bytes)
{
    uintptr_t low = atomic_load(&g->low), high = atomic_load(&g->high);

    return low < high && meets(low, high, address, bytes);
}

static bool is_far(uintptr_t address, size_t bytes)
{
    return !meets(atomic_load(&lowest), atomic_load(&highest), address, bytes);
}

/* Open before it is forgotten: a fault that is under way finds an open page, see guard_is_open. */
static void forget(struct guard *g, enum ring_why why)
{
    uintptr_t low = atomic_load(&g->low), high = atomic_load(&g->high);

    if (low == high)
        return;
    protect(low, high, g->rights);
    atomic_store(&g->high, low);
    atomic_store(&g->lost, (int)why);
    atomic_fetch_sub(&used, 1);
}

/* A forked child has the pages as they were, but it is not the one who watches. */
bool guard_inherited(void)
{
    return !home.session || atomic_load(&process.forks) != atomic_load(&owner);
}

static bool close_all(struct guard *g)
{
    uintptr_t low = atomic_load(&g->low), high = atomic_load(&g->high);

    if (low == high || atomic_load(&g->pinned) || sys_silent)
        return false;
    if (ready && !ready()) {
        forget(g, RING_WHY_SIGNALS);
        return false;
    }
    if (!protect(low, high, g->rights & ~PROT_WRITE)) {
        forget(g, RING_WHY_KERNEL);
        return false;
    }
    atomic_store(&g->opened, 0);
    atomic_store(&g->pages, 0);
    return true;
}

enum ring_why guard_begin(unsigned int place, uintptr_t address, size_t bytes)
{
    uintptr_t low = (address + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t high = (address + bytes) & ~(uintptr_t)(PAGE - 1);
    struct guard *g = &guards[place];
    enum ring_why no;
    uint64_t before;
    int rights;

    guard_end(place);
    if (high <= low || low < address)
        return RING_WHY_SMALL;
    no = guard_check(low, high, &rights);
    if (no)
        return no;
    before = lock();
    g->rights = rights;
    atomic_store(&owner, atomic_load(&process.forks));
    atomic_store(&g->opened, 0);
    atomic_store(&g->pages, 0);
    atomic_store(&g->lost, 0);
    atomic_store(&g->touched, false);
    atomic_store(&g->low, low);
    atomic_store(&g->high, high);
    atomic_store(&lowest, low < atomic_load(&lowest) ? low : atomic_load(&lowest));
    atomic_store(&highest, high > atomic_load(&highest) ? high : atomic_load(&highest));
    atomic_fetch_add(&used, 1);
    if (!protect(low, high, rights & ~PROT_WRITE)) {
        forget(g, RING_WHY_KERNEL);
        no = RING_WHY_KERNEL;
    }
    unlock(before);
    return no;
}

void guard_end(unsigned int place)
{
    uint64_t before;

    if (!guard_any())
        return;
    before = lock();
    forget(&guards[place], RING_WHY_KEPT);
    unlock(before);
}

void guard_end_all(void)
{
    uint64_t before = lock();

    for (unsigned int i = 0; i < GUARDS; i++)
        forget(&guards[i], RING_WHY_KEPT);
    unlock(before);
}

bool guard_any(void)
{
    return unlikely(atomic_load_explicit(&used, memory_order_relaxed) != 0);
}

bool guard_pages(unsigned int place, uintptr_t *low, uintptr_t *high)
{
    *low = atomic_load(&guards[place].low);
    *high = atomic_load(&guards[place].high);
    return *low < *high;
}

enum ring_why guard_lost(unsigned int place)
{
    return (enum ring_why)atomic_exchange(&guards[place].lost, 0);
}

/* ---- closed again ---- */

bool guard_close(unsigned int place)
{
    struct guard *g = &guards[place];
    bool touched;
    uint64_t before;

    if (guard_inherited())
        guard_end_all();
    if (!atomic_load(&g->touched))
        return false;
    before = lock();
    touched = atomic_exchange(&g->touched, atomic_load(&g->pinned) != 0);
    if (atomic_load(&g->opened))
        close_all(g);
    unlock(before);
    return touched;
}

static bool is_due(const struct guard *g, uint64_t now)
{
    return atomic_load(&g->low) < atomic_load(&g->high) && atomic_load(&g->opened) &&
           now - atomic_load(&g->opened_ns) > OPEN_NS;
}

void guard_now_and_then(void)
{
    uint64_t now = sys_now_ns(), before;

    for (unsigned int i = 0; i < GUARDS; i++) {
        if (!is_due(&guards[i], now) || guard_inherited())
            continue;
        before = lock();
        close_all(&guards[i]);
        unlock(before);
    }
}

/* ---- a fault ---- */

static void note_open(struct guard *g)
{
    atomic_store(&g->touched, true);
    atomic_store(&g->opened_ns, sys_now_ns());
}

bool guard_fault(uintptr_t address, struct guard_hit *hit)
{
    uintptr_t page = address & ~(uintptr_t)(PAGE - 1);

    for (unsigned int i = 0; i < GUARDS; i++) {
        struct guard *g = &guards[i];
        uintptr_t low = atomic_load(&g->low), high = atomic_load(&g->high);

        if (page < low || page >= high)
            continue;
        *hit = (struct guard_hit){i, page, atomic_fetch_add(&g->opened, 1)};
        note_open(g);
        if (guard_inherited())
            hit->place = GUARDS; /* nobody's */
        return (hit->since < FAULTS_MOST && atomic_fetch_add(&g->pages, 1) < OPEN_MOST &&
                protect(page, page + PAGE, g->rights)) ||
               protect(low, high, g->rights);
    }
    return false;
}

/* Unless somebody needs it open: then it stays so until all are closed. */
void guard_close_page(const struct guard_hit *hit)
{
    struct guard *g = &guards[hit->place % GUARDS];

    if (hit->place == GUARDS || atomic_exchange(&taken, true))
        return;
    if (hit->page >= atomic_load(&g->low) && hit->page < atomic_load(&g->high) &&
        !atomic_load(&g->pinned) && !guard_inherited() &&
        protect(hit->page, hit->page + PAGE, g->rights & ~PROT_WRITE))
        atomic_fetch_sub(&g->pages, 1);
    atomic_store(&taken, false);
}

/* Add nothing to the word, as a step of a futex: the kernel tells whether it may be written to. */
bool guard_is_open(uintptr_t address)
{
    long at = (long)(address & ~(uintptr_t)3);

    return !sys_failed(sys_call(SYS_futex, at, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, at,
                                FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0)));
}

/* ---- the kernel writes ---- */

static uint64_t pin(unsigned int i)
{
    struct guard *g = &guards[i];

    atomic_fetch_add(&g->pinned, 1);
    atomic_fetch_add(&g->opened, 1);
    note_open(g);
    protect(atomic_load(&g->low), atomic_load(&g->high), g->rights);
    return 1ull << i;
}

/* Once for all pieces of a call. */
void guard_pin(uintptr_t address, size_t bytes, uint64_t *pinned)
{
    uint64_t before = 0;

    for (unsigned int i = 0; !is_far(address, bytes) && i < GUARDS; i++) {
        if (*pinned >> i & 1 || !holds(&guards[i], address, bytes))
            continue;
        before = lock();
        if (holds(&guards[i], address, bytes))
            *pinned |= pin(i);
        unlock(before);
    }
}

void guard_unpin(uint64_t pinned)
{
    for (unsigned int i = 0; pinned; i++, pinned >>= 1)
        if (pinned & 1)
            atomic_fetch_sub(&guards[i].pinned, 1);
}

void guard_release(uintptr_t address, size_t bytes, enum ring_why why)
{
    uint64_t before;

    for (unsigned int i = 0; !is_far(address, bytes) && i < GUARDS; i++) {
        if (!holds(&guards[i], address, bytes))
            continue;
        before = lock();
        if (holds(&guards[i], address, bytes))
            forget(&guards[i], why);
        unlock(before);
    }
}
