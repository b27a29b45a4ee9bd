/* faults - see faults.h. */
#include "inject/faults.h"

#include "inject/real.h"
#include "inject/sys.h"

#include <errno.h>
#include <string.h>

#define STEPS 16u    /* writes after which a page is closed at once, since all were closed */
#define RETRIES 100u /* of one instruction whose page seems to be open */
#define STEPPING_MOST 64u
#define BIT(number) (1ul << ((number)-1))
#define BOTH (BIT(SIGSEGV) | BIT(SIGTRAP))

static _Atomic bool started;
static faults_written *told;

/* What the program wants done, of either; the one that is not in use is written to. */
static struct sigaction wanted[2][2];
static _Atomic unsigned int in_use[2];
/* Which of both its other handlers want blocked. */
static _Atomic unsigned long hidden[65];

/* Threads that make one instruction with a page open: few at one time, and TLS is scarce. */
static struct step {
    _Atomic int tid; /* 0: free */
    struct guard_hit open;
} steps[STEPPING_MOST];

/* The last instruction that was tried again, of any thread. */
static _Atomic uintptr_t late_pc;
static _Atomic uint32_t late_tries;

static struct step *step_of(int tid)
{
    for (unsigned int i = 0; i < STEPPING_MOST; i++)
        if (atomic_load_explicit(&steps[i].tid, memory_order_relaxed) == tid)
            return &steps[i];
    return NULL;
}

static struct step *claim_step(int tid)
{
    for (unsigned int i = 0; i < STEPPING_MOST; i++) {
        int none = 0;

        if (atomic_compare_exchange_strong(&steps[i].tid, &none, tid))
            return &steps[i];
    }
    return NULL;
}

static unsigned int place_of(int number)
{
    return number == SIGTRAP;
}

static struct sigaction wanted_now(int number)
{
    unsigned int place = place_of(number);

    return wanted[place][atomic_load(&in_use[place])];
}

static void want(int number, const struct sigaction *action)
{
    unsigned int place = place_of(number), next = !atomic_load(&in_use[place]);

    wanted[place][next] = *action;
    atomic_store(&in_use[place], next);
}

/* ---- what is not ours ---- */

static void set_default(int number)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};

    real.sigaction(number, &standard, NULL);
}

/* A fault comes again by itself, at the same instruction; all else has to be sent once more. */
static void end_by(int number, const siginfo_t *info)
{
    set_default(number);
    if (number != SIGSEGV || info->si_code <= 0)
        sys_call(SYS_rt_tgsigqueueinfo, sys_pid(), sys_tid(), number, (long)info, 0, 0);
}

static void run(const struct sigaction *a, int number, siginfo_t *info, ucontext_t *context)
{
    unsigned long mask = context->uc_sigmask.__val[0] | a->sa_mask.__val[0];
    struct sigaction once = {.sa_handler = SIG_DFL};

    mask &= ~BOTH;
    if (a->sa_flags & (int)SA_RESETHAND)
        want(number, &once);
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0, 0);
    a->sa_sigaction(number, info, context);
}

static void pass_on(int number, siginfo_t *info, ucontext_t *context)
{
    const struct sigaction a = wanted_now(number);
    bool sent = info->si_code <= 0;

    if (!sent && local.faults >> place_of(number) & 1)
        end_by(number, info); /* what the program has blocked ends it */
    else if (a.sa_handler == SIG_DFL || (a.sa_handler == SIG_IGN && !sent))
        end_by(number, info);
    else if (a.sa_handler != SIG_IGN)
        run(&a, number, info, context);
}

/* ---- what is ---- */

/* The page was opened by another thread, or is no longer guarded. */
static bool is_late(uintptr_t address, uintptr_t pc)
{
    if (atomic_exchange(&late_pc, pc) != pc)
        atomic_store(&late_tries, 0);
    return atomic_fetch_add(&late_tries, 1) < RETRIES && guard_is_open(address);
}

/* Once at a time: a page more, of an instruction that writes to two, stays open. */
static void step_over(const struct guard_hit *hit, ucontext_t *context)
{
    int tid = sys_tid();
    struct step *s;

    if (hit->since >= STEPS || !guard_check_steps() ||
        context->uc_sigmask.__val[0] & BIT(SIGTRAP) || step_of(tid))
        return;
    s = claim_step(tid);
    if (!s)
        return;
    s->open = *hit;
    if (!arch_step(context, true))
        atomic_store(&s->tid, 0);
}

static bool take_fault(const siginfo_t *info, ucontext_t *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    struct caller at = arch_interrupted(context);
    struct guard_hit hit;

    if (info->si_code != SEGV_ACCERR || !arch_fault_writes(context))
        return false;
    if (!guard_fault(address, &hit))
        return is_late(address, at.pc);
    atomic_store(&late_pc, 0);
    if (hit.place < GUARDS) {
        told(&hit, address, at);
        step_over(&hit, context);
    }
    return true;
}

static bool take_step(const siginfo_t *info, ucontext_t *context)
{
    struct step *s = info->si_code == TRAP_TRACE ? step_of(sys_tid()) : NULL;

    if (!s)
        return false;
    arch_step(context, false);
    guard_close_page(&s->open);
    atomic_store(&s->tid, 0);
    return true;
}

/* All other signals are blocked meanwhile, but those of a fault. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    bool ours = number == SIGSEGV ? take_fault(info, context) : take_step(info, context);

    errno = kept;
    if (!ours)
        pass_on(number, info, context);
}

/* ---- as the program has set them ---- */

/* Whose handler wants a stack of its own gets it, as ours runs first. */
static bool install(int number)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    const struct sigaction a = wanted_now(number);
    bool handled = a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN;
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};

    if (handled)
        ours.sa_flags |= a.sa_flags & (SA_ONSTACK | SA_RESTART);
    else
        ours.sa_flags |= SA_RESTART;
    memset(&ours.sa_mask, 0xff, sizeof(ours.sa_mask));
    for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sys_drop(&ours.sa_mask, faults[i]);
    return real.sigaction(number, &ours, NULL) == 0;
}

static bool take(int number)
{
    struct sigaction before;

    if (real.sigaction(number, NULL, &before) != 0)
        return false;
    want(number, &before);
    return install(number);
}

/* Handlers that block one of both: not any more. */
static void uncover(int number)
{
    struct sigaction a;
    unsigned long both;

    if (number == SIGSEGV || number == SIGTRAP || real.sigaction(number, NULL, &a) != 0)
        return;
    both = a.sa_mask.__val[0] & BOTH;
    if (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN || !both)
        return;
    atomic_store(&hidden[number], both);
    a.sa_mask.__val[0] &= ~BOTH;
    real.sigaction(number, &a, NULL);
}

static bool are_ours(void)
{
    struct sigaction now;

    return real.sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == on_signal;
}

bool faults_start(faults_written *written)
{
    if (faults_any())
        return are_ours();
    real_now();
    told = written;
    guard_while(are_ours);
    if (!real.sigaction || !take(SIGSEGV) || !take(SIGTRAP))
        return false;
    atomic_store(&started, true);
    for (int number = 1; number <= 64; number++)
        uncover(number);
    return true;
}

/* Another thread may be on its way into the handler: its page is open by now. */
void faults_stop(void)
{
    struct sigaction a;

    if (!atomic_exchange(&started, false))
        return;
    sys_pause_us(1000);
    for (int number = 1; number <= 64; number++) {
        unsigned long both = atomic_exchange(&hidden[number], 0);

        if (!both || real.sigaction(number, NULL, &a) != 0)
            continue;
        a.sa_mask.__val[0] |= both;
        real.sigaction(number, &a, NULL);
    }
    a = wanted_now(SIGSEGV);
    real.sigaction(SIGSEGV, &a, NULL);
    a = wanted_now(SIGTRAP);
    real.sigaction(SIGTRAP, &a, NULL);
}

bool faults_any(void)
{
    return unlikely(atomic_load_explicit(&started, memory_order_relaxed));
}

bool faults_is_ours(int number)
{
    return faults_any() && (number == SIGSEGV || number == SIGTRAP);
}

static int action_of_other(int number, const struct sigaction *action, struct sigaction *before)
{
    unsigned long was = number > 0 && number <= 64 ? atomic_load(&hidden[number]) : 0;
    struct sigaction copy;
    int result;

    if (action) {
        copy = *action;
        copy.sa_mask.__val[0] &= ~BOTH;
    }
    result = real.sigaction(number, action ? &copy : NULL, before);
    if (result)
        return result;
    if (before)
        before->sa_mask.__val[0] |= was;
    if (action)
        atomic_store(&hidden[number], action->sa_mask.__val[0] & BOTH);
    return 0;
}

int faults_action(int number, const struct sigaction *action, struct sigaction *before)
{
    struct sigaction now;

    if (number != SIGSEGV && number != SIGTRAP)
        return action_of_other(number, action, before);
    now = wanted_now(number);
    if (action) {
        want(number, action);
        install(number);
    }
    if (before)
        *before = now;
    return 0;
}

/* ---- masks ---- */

const sigset_t *faults_never_blocked(const sigset_t *set, sigset_t *copy)
{
    if (!set || !faults_any() || !(set->__val[0] & BOTH))
        return set;
    *copy = *set;
    copy->__val[0] &= ~BOTH;
    return copy;
}

void faults_show(sigset_t *mask)
{
    mask->__val[0] |= (local.faults & 1 ? BIT(SIGSEGV) : 0) | (local.faults & 2 ? BIT(SIGTRAP) : 0);
}

void faults_believe(int how, const sigset_t *set)
{
    uint8_t named = (uint8_t)((set->__val[0] >> (SIGSEGV - 1) & 1) |
                              (set->__val[0] >> (SIGTRAP - 1) & 1) << 1);

    local.faults = (uint8_t)(how == SIG_SETMASK ? named
                             : how == SIG_BLOCK ? local.faults | named
                                                : local.faults & ~named);
}
