/* remote - see remote.h.
 *
 * The thread is stopped by PTRACE_INTERRUPT, which sends no signal. If it was in a system call, the
 * kernel has left that with one of the numbers that mean "again"; with its registers back as they
 * were, at a stop of the same sort, the kernel makes it again, with what is left of its time. A few
 * calls end with EINTR instead: they are made again by us, and a thread in one of them is borrowed
 * only when there is no other.
 *
 * The end of a called function is seen by a system call: it returns to such an instruction. A
 * breakpoint would be a signal, whose handling the kernel changes in some programs.
 */
#include "watch/remote.h"

#include "trace/ring.h"
#include "watch/unsafe.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SCRATCH_BYTES (512u << 10)
#define TEXT_BYTES 8192u
#define THREADS_MOST 1024
#define ROUNDS 300       /* of all threads, until none of them will do */
#define ROUNDS_GENTLE 20 /* of them without those whose system call we would have to repeat */
#define ROUND_NS 3000000
#define STOP_TRIES 400    /* of STEP_NS, for a thread to stop */
#define CALL_TRIES 120000 /* the same, for a function to return */
#define STEP_NS 250000

static void nap(long ns)
{
    struct timespec t = {0, ns};

    nanosleep(&t, NULL);
}

/* ---- which thread ---- */

static bool ends_early(long number)
{
    switch (number) { /* see signal(7): these fail with EINTR whatever interrupts them */
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
#ifdef SYS_io_uring_enter
    case SYS_io_uring_enter:
#endif
    /* those with a time of their own on the socket */
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_read:
    case SYS_write:
        return true;
    default:
        return false;
    }
}

static bool may_end_early(long number)
{
    return ends_early(number) && number != SYS_read && number != SYS_write &&
           number != SYS_recvfrom && number != SYS_recvmsg && number != SYS_sendto &&
           number != SYS_sendmsg && number != SYS_accept && number != SYS_accept4;
}

static bool read_line(int pid, int tid, const char *name, char *out, size_t room)
{
    char path[64];
    FILE *f;
    bool done;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
    f = fopen(path, "re");
    if (!f)
        return false;
    done = fgets(out, (int)room, f) != NULL;
    fclose(f);
    return done;
}

/* Waiting in a call that the kernel repeats, else running; 2: in one that we would have to repeat;
 * 3: not to be had.
 */
static int rank(int pid, int tid)
{
    char line[512];
    const char *state;

    if (!read_line(pid, tid, "stat", line, sizeof(line)) || !(state = strrchr(line, ')')) ||
        strchr("ZXxDtT", state[2]))
        return 3;
    if (!read_line(pid, tid, "syscall", line, sizeof(line)) || line[0] < '0' || line[0] > '9')
        return 1;
    return may_end_early(atol(line)) ? 2 : 0;
}

/* ---- stopping and going on ---- */

static bool wait_stop(int tid, int *status, int tries)
{
    for (int i = 0; i < tries; i++) {
        pid_t got = waitpid(tid, status, __WALL | WNOHANG);

        if (got == tid)
            return WIFSTOPPED(*status);
        if (got < 0 && errno != EINTR)
            return false;
        if (i > 20)
            nap(STEP_NS);
        else
            nap(20000);
    }
    return false;
}

static bool is_our_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

/* Stop it where nothing but our own request has stopped it: signals pass on their way. */
static bool interrupt(int tid)
{
    int status;

    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
        return false;
    while (wait_stop(tid, &status, STOP_TRIES)) {
        if (is_our_stop(status))
            return true;
        if (status >> 16 == PTRACE_EVENT_STOP)
            return false; /* job control */
        if (ptrace(PTRACE_CONT, tid, NULL, (void *)(long)WSTOPSIG(status)) < 0)
            return false;
    }
    return false;
}

static uint64_t pending_signals(int pid, int tid)
{
    uint64_t pending = 0, value;
    char path[64], line[256];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "SigPnd: %" SCNx64, &value) == 1 ||
            sscanf(line, "ShdPnd: %" SCNx64, &value) == 1)
            pending |= value;
    }
    if (f)
        fclose(f);
    return pending;
}

/* A call that has failed because of us is made again; not so if there is a signal that would have
 * ended it, too.
 */
static bool repeat_call(struct remote *r)
{
    struct user_regs_struct *x = &r->registers;

    if ((int64_t)x->orig_rax < 0 || x->rax != (uint64_t)-EINTR || !ends_early((long)x->orig_rax) ||
        pending_signals(r->process->pid, r->tid) & ~r->mask)
        return false;
    x->rax = x->orig_rax;
    x->orig_rax = (uint64_t)-1;
    x->rip -= 2;
    return true;
}

static bool save(struct remote *r)
{
    struct iovec state = {r->state, sizeof(r->state)};

    if (ptrace(PTRACE_GETREGS, r->tid, NULL, &r->registers) < 0 ||
        ptrace(PTRACE_GETREGSET, r->tid, (void *)NT_X86_XSTATE, &state) < 0 ||
        ptrace(PTRACE_GETSIGMASK, r->tid, (void *)sizeof(r->mask), &r->mask) < 0)
        return false;
    r->state_bytes = state.iov_len;
    return true;
}

static bool block_signals(const struct remote *r)
{
    uint64_t mask = RING_BORROWED_MASK;

    return ptrace(PTRACE_SETSIGMASK, r->tid, (void *)sizeof(mask), &mask) == 0;
}

/* 1: borrowed; 0: not now; -1: never, errno says why. */
static int try_thread(struct remote *r, struct unsafe *u, int tid)
{
    r->tid = tid;
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(long)PTRACE_O_TRACESYSGOOD) < 0)
        return errno == EPERM && !r->entered ? -1 : 0;
    r->entered = true;
    if (!interrupt(tid)) {
        ptrace(PTRACE_DETACH, tid, NULL, NULL); /* should it not have stopped: when we end */
        return 0;
    }
    if (save(r) && r->registers.cs == 0x33 && unsafe_is_elsewhere(u, r->process, &r->registers) &&
        block_signals(r))
        return 1;
    if (repeat_call(r))
        ptrace(PTRACE_SETREGS, tid, NULL, &r->registers);
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    return 0;
}

static int try_all(struct remote *r, struct unsafe *u, int worst)
{
    char path[64];
    struct dirent *e;
    int found = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", r->process->pid);
    for (int wanted = 0; wanted <= worst && found == 0; wanted++) {
        dir = opendir(path);
        while (dir && found == 0 && (e = readdir(dir)) != NULL) {
            int tid = atoi(e->d_name);

            if (tid > 0 && rank(r->process->pid, tid) == wanted)
                found = try_thread(r, u, tid);
        }
        if (dir)
            closedir(dir);
    }
    return found;
}

static bool find_gadget(struct remote *r)
{
    unsigned char code[4096];
    uint64_t unused;
    const struct loaded_object *libc = loaded_find(r->process, "gnu_get_libc_version", &unused);

    for (uint64_t at = libc ? libc->code_from : 0; libc && at < libc->code_to;
         at += sizeof(code) - 1) {
        size_t bytes = libc->code_to - at < sizeof(code) ? libc->code_to - at : sizeof(code);

        if (!loaded_read(r->process, at, code, bytes))
            return false;
        for (size_t i = 0; i + 1 < bytes; i++)
            if (code[i] == 0x0f && code[i + 1] == 0x05) {
                r->gadget = at + i;
                return true;
            }
    }
    return false;
}

static int refused(int pid, struct err *err)
{
    char scope[8] = "0";
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");

    if (f) {
        (void)!fgets(scope, sizeof(scope), f);
        fclose(f);
    }
    if (scope[0] != '0' && geteuid() != 0)
        return err_code(err, 126,
                        "this system lets only root enter a process that runs (ptrace_scope is "
                        "%c); run as root, or 'sysctl kernel.yama.ptrace_scope=0'",
                        scope[0]);
    return err_code(err, 126, "may not enter process %d; attach as its user or as root", pid);
}

int remote_borrow(struct remote *r, const struct loaded *process, struct err *err)
{
    struct unsafe unsafe;
    const uint64_t how[6] = {0,
                             SCRATCH_BYTES,
                             PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                             (uint64_t)-1,
                             0};
    int64_t at = 0;
    int found = 0;

    *r = (struct remote){.process = process};
    if (!find_gadget(r))
        return err_code(err, 126, "process %d has no libc that is known here", process->pid);
    unsafe_find(&unsafe, process);
    for (int i = 0; i < ROUNDS && !found; i++) {
        found = try_all(r, &unsafe, i < ROUNDS_GENTLE ? 1 : 2);
        if (found < 0)
            return refused(process->pid, err);
        if (!found)
            nap(ROUND_NS);
    }
    if (!found)
        return err_code(err, 126,
                        "no thread of process %d could be stopped outside of the allocator and the "
                        "loader; try again",
                        process->pid);
    if (remote_system_call(r, SYS_mmap, how, &at, err) < 0 || at < 0) {
        remote_return(r);
        return err_code(err, 126, "process %d has no memory left to load a library with",
                        process->pid);
    }
    r->scratch = (uint64_t)at;
    return 0;
}

/* ---- calls ---- */

static bool at_system_call(int status)
{
    return status >> 16 == 0 && WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* Go on to the next entry or exit of a system call. */
static int next_call(struct remote *r, struct user_regs_struct *x, struct err *err)
{
    int status;

    for (;;) {
        if (ptrace(PTRACE_SYSCALL, r->tid, NULL, NULL) < 0 ||
            !wait_stop(r->tid, &status, CALL_TRIES))
            break;
        if (ptrace(PTRACE_GETREGS, r->tid, NULL, x) < 0)
            break;
        if (at_system_call(status))
            return 0;
        if (status >> 16 == PTRACE_EVENT_STOP)
            continue;
        return err_code(err, 126, "the call in process %d met signal %d", r->process->pid,
                        WSTOPSIG(status)); /* which it does not get: it was our doing */
    }
    return err_code(err, 126, "the call in process %d did not return", r->process->pid);
}

static bool set(const struct remote *r, const struct user_regs_struct *x)
{
    return ptrace(PTRACE_SETREGS, r->tid, NULL, x) == 0;
}

static int lost(const struct remote *r, struct err *err)
{
    return err_code(err, 126, "process %d has just ended", r->process->pid);
}

int remote_system_call(struct remote *r, long number, const uint64_t arguments[6], int64_t *result,
                       struct err *err)
{
    struct user_regs_struct x = r->registers;

    x.rip = r->gadget;
    x.orig_rax = (uint64_t)-1; /* nothing for the kernel to repeat */
    x.rax = (uint64_t)number;
    x.rdi = arguments[0];
    x.rsi = arguments[1];
    x.rdx = arguments[2];
    x.r10 = arguments[3];
    x.r8 = arguments[4];
    x.r9 = arguments[5];
    if (!set(r, &x))
        return lost(r, err);
    for (int i = 0; i < 2; i++) /* into it, and out of it */
        if (next_call(r, &x, err) < 0)
            return -1;
    *result = (int64_t)x.rax;
    return 0;
}

int remote_call(struct remote *r, uint64_t function, uint64_t first, uint64_t second,
                uint64_t *result, struct err *err)
{
    struct user_regs_struct x = r->registers;
    uint64_t stack = r->scratch + SCRATCH_BYTES - 64 - 8; /* 16 bytes aligned before the call */

    if (!loaded_write(r->process, stack, &r->gadget, 8))
        return lost(r, err);
    x.rip = function;
    x.rsp = stack;
    x.rbp = 0;
    x.orig_rax = (uint64_t)-1;
    x.rax = 0;
    x.rdi = first;
    x.rsi = second;
    x.eflags &= ~0x500ull; /* direction, trap */
    if (!set(r, &x))
        return lost(r, err);
    do {
        if (next_call(r, &x, err) < 0)
            return -1;
    } while (x.rip != r->gadget + 2 || x.rsp != stack + 8);
    *result = x.orig_rax;
    x.orig_rax = (uint64_t)-1; /* no such call */
    return set(r, &x) ? next_call(r, &x, err) : lost(r, err);
}

uint64_t remote_text(struct remote *r, const char *text)
{
    size_t bytes = strlen(text) + 1;

    return bytes <= TEXT_BYTES && loaded_write(r->process, r->scratch, text, bytes) ? r->scratch
                                                                                    : 0;
}

void remote_read_text(const struct remote *r, uint64_t at, char *out, size_t room)
{
    size_t i = 0;

    while (at && i + 1 < room && loaded_read(r->process, at + i, &out[i], 1) && out[i])
        i++;
    out[i] = '\0';
}

void remote_return(struct remote *r)
{
    const uint64_t where[6] = {r->scratch, SCRATCH_BYTES};
    struct iovec state = {r->state, r->state_bytes};
    struct err ignored;
    int64_t result;

    if (r->scratch)
        remote_system_call(r, SYS_munmap, where, &result, &ignored);
    /* The kernel repeats a call only after a stop of this sort. */
    ptrace(PTRACE_INTERRUPT, r->tid, NULL, NULL);
    for (int status = 0; !is_our_stop(status);) {
        ptrace(PTRACE_CONT, r->tid, NULL, NULL); /* fails where a call has not returned */
        if (!wait_stop(r->tid, &status, CALL_TRIES))
            return;
    }
    repeat_call(r);
    ptrace(PTRACE_SETREGSET, r->tid, (void *)NT_X86_XSTATE, &state);
    ptrace(PTRACE_SETREGS, r->tid, NULL, &r->registers);
    ptrace(PTRACE_SETSIGMASK, r->tid, (void *)sizeof(r->mask), &r->mask);
    ptrace(PTRACE_DETACH, r->tid, NULL, NULL);
}
