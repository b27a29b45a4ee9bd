/* cpu - see cpu.h.
 *
 * Timers, not perf events: those need a descriptor in the program, which would change the numbers
 * that its own get, and which it may close. The kernel deletes timers on exec and drops what they
 * have sent, and does not hand them to a forked child.
 */
#include "inject/cpu.h"

#include "inject/buffer.h"
#include "inject/cut.h"
#include "inject/process.h"
#include "inject/real.h"
#include "inject/sys.h"
#include "inject/unwind.h"
#include "inject/where.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

/* Real-time signals that programs hardly use: those count from either end of 34 .. 64. */
#define SIGNAL_FIRST 58
#define SIGNAL_LAST 44
#define INTERVAL_LEAST_NS 1000000u
#define SETTLE_NS 10000000u
/* the interval grows from there so that there are about so many samples */
#define SAMPLES_AIM 2000

static _Atomic int signal_used;
static _Atomic bool signal_chosen;
static _Atomic int owner;           /* the process whose handlers and timers these are */
static _Atomic uint64_t sampled_ns; /* of all threads */
static void (*sampled)(struct caller at);

static bool wanted(void) /* now or after a pause */
{
    return process.control->wants & RING_WANTS_CPU && process_mode() != RING_OFF;
}

static uint64_t used_ns(void)
{
    struct timespec t = {0};

    sys_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&t, 0, 0, 0, 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- timers ---- */

/* Short programs are sampled as often as the kernel lets us, long ones as it was asked for. */
static uint64_t interval_now(void)
{
    uint64_t most = process.control->cpu_ns;
    uint64_t now = atomic_load_explicit(&sampled_ns, memory_order_relaxed) / SAMPLES_AIM;

    now = now < INTERVAL_LEAST_NS ? INTERVAL_LEAST_NS : now;
    return now < most ? now : most;
}

static void set_timer(struct thread *t, int id, uint64_t first)
{
    uint64_t ns = interval_now();
    struct itimerspec rhythm = {
        .it_interval = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)},
        .it_value = {(time_t)(first / 1000000000u), (long)(first % 1000000000u)}};

    t->timer_ns = ns;
    sys_call(SYS_timer_settime, id, 0, (long)&rhythm, 0, 0, 0);
}

/* The first signal comes at any time of an interval, so that short threads are seen as well. */
static uint64_t any_time(void)
{
    return (sys_now_ns() * 0x9e3779b97f4a7c15u >> 20) % interval_now() + 1;
}

static void arm(struct thread *t, int tid, int number)
{
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number, .sigev_value.sival_ptr = &process};
    int id = 0, clock = (int)(~(unsigned int)tid << 3 | 6); /* the CPU clock of that thread */

    event._sigev_un._tid = tid;
    if (sys_failed(sys_call(SYS_timer_create, clock, (long)&event, (long)&id, 0, 0, 0)))
        return;
    set_timer(t, id, any_time());
    t->timer_tid = tid;
    atomic_store(&t->timer, id + 1);
}

static void disarm(struct thread *t)
{
    int id = atomic_exchange(&t->timer, 0);

    if (id)
        sys_call(SYS_timer_delete, id - 1, 0, 0, 0, 0, 0);
}

/* ---- samples ---- */

static void put(struct thread *t, unsigned int kind, uint32_t stack, uint64_t now)
{
    uint64_t words[2] = {stack, now - t->cpu_ns};

    t->cpu_ns = now;
    buffer_now(t);
    buffer_put(t, buffer_word(RING_CPU, kind, 0), words, 2, NULL, 0);
}

static void slow_down(struct thread *t)
{
    int id = atomic_load(&t->timer);

    if (id && interval_now() >= t->timer_ns * 5 / 4)
        set_timer(t, id - 1, any_time());
}

/* What is used during a pause is nobody's. */
void cpu_take(struct thread *t, struct caller at)
{
    uint64_t now = used_ns();
    uint32_t stack;

    if (!wanted()) {
        disarm(t);
    } else if (process_mode() & RING_PAUSED) {
        t->cpu_ns = now;
    } else {
        stack = unwind_interrupted(t, at.pc, at.sp, at.fp);
        atomic_fetch_add_explicit(&sampled_ns, now - t->cpu_ns, memory_order_relaxed);
        put(t, where_kind(t, at.pc), stack, now);
        slow_down(t);
    }
}

/* Sent by somebody else: what would have happened without us, which is the end. */
static void not_ours(int number)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};

    if (local.masked)
        return;
    real.sigaction(number, &standard, NULL);
    sys_call(SYS_tgkill, sys_pid(), sys_tid(), number, 0, 0, 0);
}

/* All other signals are blocked meanwhile, but those that a bad read would cause. While a record is
 * being written there is no sample; the time goes to the next.
 */
static void on_signal(int number, siginfo_t *info, void *context)
{
    struct caller at = arch_interrupted(context);
    uint8_t quiet = local.quiet;
    int kept = errno;

    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &process) {
        not_ours(number);
        return;
    }
    cut_note(context);
    if (local.busy || local.ended)
        return;
    local.quiet = 1;
    sampled(at);
    local.quiet = quiet;
    errno = kept;
}

/* ---- the signal ---- */

static bool is_free(int number)
{
    struct sigaction now;

    return real.sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           now.sa_handler == SIG_DFL;
}

static bool install(int number)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    struct sigaction ours = {.sa_sigaction = on_signal,
                             .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

    memset(&ours.sa_mask, 0xff, sizeof(ours.sa_mask));
    for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sys_drop(&ours.sa_mask, faults[i]);
    return real.sigaction(number, &ours, NULL) == 0;
}

static int choose(void)
{
    for (int number = SIGNAL_FIRST; number >= SIGNAL_LAST; number--) {
        if (is_free(number) && install(number))
            return number;
    }
    return 0;
}

/* A thread may have inherited a mask with the signal in it: that is then what the program sees. One
 * that was borrowed gets its own mask back.
 */
static void unblock(int number)
{
    uint64_t ours = 1ull << (number - 1), before = 0;

    sys_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&before, sizeof(before), 0, 0);
    if (before == RING_BORROWED_MASK || !(before & ours))
        return;
    sys_call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&ours, 0, sizeof(ours), 0, 0);
    local.masked = 1;
}

void cpu_sampled_by(void (*function)(struct caller at))
{
    sampled = function;
}

int cpu_signal(void)
{
    return atomic_load_explicit(&signal_used, memory_order_relaxed);
}

/* ---- threads ---- */

static void start(void)
{
    where_start();
    atomic_store(&signal_used, real.sigaction ? choose() : 0);
}

/* A forked child has our handler as it was, unless it has reset all signals before it comes here.
 */
static void inherit(void)
{
    int number = cpu_signal(), pid = sys_pid();
    struct sigaction now;

    if (atomic_exchange(&owner, pid) != pid && number &&
        (real.sigaction(number, NULL, &now) != 0 || now.sa_sigaction != on_signal))
        atomic_store(&signal_used, choose());
}

/* A filter that would punish one of these has no samples taken: some are made by libc for us. */
static bool is_forbidden(void)
{
    static const short calls[] = {RING_CPU_CALLS};

    for (unsigned int i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (sys_never(calls[i]))
            return true;
    return false;
}

void cpu_begin(struct thread *t)
{
    int tid = sys_tid();

    if (!wanted() || is_forbidden() || local.ended ||
        (t->timer_tid == tid && atomic_load(&t->timer)))
        return;
    if (!atomic_exchange(&signal_chosen, true))
        start();
    inherit();
    atomic_store(&t->timer, 0);
    t->cpu_ns = used_ns();
    if (!cpu_signal())
        return;
    unblock(cpu_signal());
    arm(t, tid, cpu_signal());
}

/* Its timer begins anew, and what it has sent is taken back. */
void cpu_settle(void)
{
    struct thread *t = local.thread;
    int number = cpu_signal(), id = t ? atomic_load(&t->timer) : 0;
    uint64_t ours = number ? 1ull << (number - 1) : 0;
    struct timespec at_once = {0, 0};

    if (!number || !id)
        return;
    set_timer(t, id - 1, SETTLE_NS);
    sys_call(SYS_rt_sigtimedwait, (long)&ours, 0, (long)&at_once, sizeof(ours), 0, 0);
}

void cpu_end(struct thread *t)
{
    if (t->timer_tid != sys_tid())
        return;
    disarm(t);
    t->timer_tid = 0;
    if (wanted() && !(process_mode() & RING_PAUSED))
        put(t, 0, 0, used_ns());
}

void cpu_forked(void)
{
    struct thread *t = local.thread;

    if (t && t->timer_tid && !local.busy)
        cpu_begin(t);
}

/* Ignoring a signal, if for a moment, drops what is pending of it in any thread. */
static void release(int number)
{
    struct sigaction set = {.sa_handler = SIG_IGN};

    real.sigaction(number, &set, NULL);
    set.sa_handler = SIG_DFL;
    real.sigaction(number, &set, NULL);
}

static void move_one(struct thread *t, int next)
{
    bool ran = atomic_load(&t->timer);

    disarm(t);
    if (ran && next)
        arm(t, t->timer_tid, next);
}

/* All threads from this signal to another, or to none (0). The others of a child that was just
 * forked are its parent's.
 */
static void move_to(int next)
{
    struct thread *t = home.session ? atomic_load(&process.threads) : NULL;

    if (!home.session && local.thread)
        move_one(local.thread, next);
    for (; t; t = t->next)
        move_one(t, next);
}

/* A forked child may have no timer, and one of vfork has its parent's memory, not its handlers. */
void cpu_yield(void)
{
    int kept = errno, before = atomic_load(&signal_used), next;

    if (!before || atomic_load(&owner) != sys_pid() ||
        !atomic_compare_exchange_strong(&signal_used, &before, 0))
        return;
    next = choose();
    move_to(next);
    release(before);
    atomic_store(&signal_used, next);
    errno = kept;
}

void cpu_leave(void)
{
    int before = atomic_exchange(&signal_used, 0);

    if (!before)
        return;
    move_to(0);
    release(before);
    atomic_store(&signal_chosen, false);
}
