/* borrow - see borrow.h. */
#include "attach/borrow.h"

#include "arch/stopped.h"
#include "attach/candidates.h"
#include "attach/stops.h"
#include "attach/unsafe.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_NS                                                                                \
    30000000000u         /* for a thread at a good point: on a busy machine that takes long */
#define ROUNDS_GENTLE 20 /* without those whose system call we would have to repeat */
#define ROUND_NS 3000000
#define ROUND_MOST_NS 20000000
#define RESTART_BY_BLOCK 516 /* of the kernel: gone on with by restart_syscall */
#define OWN_ROOM (64u << 10) /* that a stack of its own must have left */

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

bool borrow_repeat(struct remote *r)
{
    struct user_regs_struct *x = &r->was.registers;
    long call = arch_call_number(x);

    if (r->repeat >= 0 && arch_call_result(x) == -RESTART_BY_BLOCK &&
        confined_never(&r->confined, SYS_restart_syscall)) {
        arch_set_repeat(x, r->repeat);
        return true;
    }
    if (call < 0 || arch_call_result(x) != -EINTR || !candidates_end_early(call) ||
        pending_signals(r->process->pid, r->tid) & ~r->was.mask)
        return false;
    arch_set_repeat(x, call);
    return true;
}

/* A wait that was interrupted before goes on by a call of its own, which only the kernel can make.
 * What it was is in the code.
 */
static long call_of(const struct remote *r, const struct user_regs_struct *x)
{
    unsigned char code[ARCH_CALL_CODE_BYTES];
    long call = arch_call_number(x), before = -1;

    if (call == SYS_restart_syscall &&
        loaded_read(r->process, arch_program_counter(x) - sizeof(code), code, sizeof(code)))
        before = arch_call_in_code(code);
    return before < 0 ? call : before;
}

/* Was it waiting, in a call that is made again, be it by the kernel or by us? */
static bool has_waited(const struct user_regs_struct *x)
{
    int64_t result = arch_call_result(x);
    long call = arch_call_number(x);

    if (call < 0)
        return false;
    return result == -512 || result == -513 || result == -514 || result == -RESTART_BY_BLOCK ||
           (result == -EINTR && candidates_end_early(call));
}

static bool save(struct remote *r)
{
    const struct user_regs_struct *x = &r->was.registers;

    if (!arch_stopped_read(r->tid, &r->was))
        return false;
    r->repeat = has_waited(x) ? call_of(r, x) : -1;
    return true;
}

/* 1: stopped, and what it was is known; 0: not now; -1: never, errno says why. */
static int stop_thread(struct remote *r, int tid)
{
    r->tid = tid;
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(long)PTRACE_O_TRACESYSGOOD) < 0)
        return errno == EPERM && !r->entered ? -1 : 0;
    r->entered = true;
    if (!stops_interrupt(tid)) {
        ptrace(PTRACE_DETACH, tid, NULL, NULL); /* should it not have stopped: when we end */
        return 0;
    }
    if (save(r))
        return 1;
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    return 0;
}

void borrow_go_on(struct remote *r)
{
    if (borrow_repeat(r))
        arch_registers_write(r->tid, &r->was.registers);
    ptrace(PTRACE_DETACH, r->tid, NULL, NULL);
}

/* 1: borrowed; the others as above. */
static int try_thread(struct remote *r, struct unsafe *u, int tid)
{
    int stopped = stop_thread(r, tid);

    if (stopped <= 0)
        return stopped;
    if (arch_is_native(&r->was.registers) && unsafe_is_elsewhere(u, r->process, &r->was.registers))
        return 1;
    borrow_go_on(r);
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

            if (tid > 0 && candidates_rank(r->process->pid, tid) == wanted)
                found = try_thread(r, u, tid);
        }
        if (dir)
            closedir(dir);
    }
    return found;
}

/* A stack that surely is the thread's own, with room: the first thread's, or one that ends where
 * the thread's own data is, as libc makes it. Others may be small, with something else below.
 */
static void find_own_stack(struct remote *r)
{
    uint64_t sp = arch_stack_pointer(&r->was.registers), from, to;
    uint64_t own = arch_thread_data(&r->was.registers);
    char path[64], line[512];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/maps", r->process->pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2 || sp < from || sp >= to)
            continue;
        if (sp - from >= OWN_ROOM + ARCH_WAY_BACK_MOST && strstr(line, " rw-p ") &&
            (strstr(line, "[stack]") || (own > sp && own < to)))
            r->own_stack = (sp - arch_red_zone() - ARCH_WAY_BACK_MOST) & ~63ull;
        break;
    }
    if (f)
        fclose(f);
}

const char *borrow_advice(void)
{
    return geteuid() == 0
             ? "it has privileges that root lacks here; attach from outside the container"
             : "attach as its user or as root";
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
        return err_code(
            err, 126,
            "this system lets only root enter a running process (ptrace_scope is %c); run as root, "
            "or set it with 'sysctl kernel.yama.ptrace_scope=0'",
            scope[0]);
    return err_code(err, 126, "not allowed to enter process %d; %s", pid, borrow_advice());
}

struct rounds { /* of all threads, until one of them will do */
    unsigned int count;
    uint64_t since_ns;
};

/* Wait a little, longer each time. False: for long enough. */
static bool next_round(struct rounds *r)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    long nap = ROUND_NS + (long)r->count * (ROUND_NS / 100);

    r->since_ns = r->since_ns ? r->since_ns : now;
    stops_nap(nap < ROUND_MOST_NS ? nap : ROUND_MOST_NS);
    r->count++;
    return now - r->since_ns < PATIENCE_NS;
}

/* ---- filters ---- */

static int unreadable(int pid, int error, struct err *err)
{
    if (error == EACCES && geteuid() != 0)
        return err_code(
            err, 126,
            "process %d filters its system calls (seccomp), and only root may read what "
            "it lets through; attach as root, or start it with 'tidemark record'",
            pid);
    return err_code(
        err, 126,
        "process %d filters its system calls (seccomp), and one of ours could get it killed, as "
        "its filter cannot be read (%s); attach from outside the container, or start it with "
        "'tidemark record' instead",
        pid, strerror(error));
}

int borrow_stop(struct remote *r, int tid, struct err *err)
{
    int pid = r->process->pid, mode = confined_mode(pid, tid), stopped, error;

    if (mode == CONFINED_STRICT)
        return err_code(err, 126, "process %d may only read and write (strict seccomp)", pid);
    stopped = stop_thread(r, tid);
    if (stopped <= 0)
        return stopped < 0 ? refused(pid, err) : 0;
    if (!mode || confined_read(&r->confined, tid) == 0)
        return 1;
    error = errno;
    borrow_go_on(r);
    return unreadable(pid, error, err);
}

/* 1: its filters were read, or there are none; 0: not now; -1 with *err. */
static int ask_thread(struct remote *r, int tid, struct err *err)
{
    int stopped;

    if (!confined_mode(r->process->pid, tid))
        return 1;
    stopped = borrow_stop(r, tid, err);
    if (stopped > 0)
        borrow_go_on(r);
    return stopped;
}

/* How many of the threads could not be asked; -1 with *err. */
static int ask_all(struct remote *r, struct err *err)
{
    char path[64];
    struct dirent *e;
    int left = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", r->process->pid);
    dir = opendir(path);
    while (dir && left >= 0 && (e = readdir(dir)) != NULL) {
        int asked = atoi(e->d_name) > 0 ? ask_thread(r, atoi(e->d_name), err) : 1;

        left = asked < 0 ? -1 : left + !asked;
    }
    if (dir)
        closedir(dir);
    return left;
}

int borrow_ask(struct remote *r, struct err *err)
{
    int pid = r->process->pid, left = ask_all(r, err);
    struct rounds rounds = {0};

    for (; left > 0 && next_round(&rounds); left = ask_all(r, err))
        if (stops_told_to_end())
            return err_code(err, 126, "interrupted before process %d was entered", pid);
    if (left < 0)
        return -1;
    if (left)
        return err_code(err, 126,
                        "%d threads of process %d, whose system calls are filtered, could not be "
                        "asked what they may do; try again",
                        left, pid);
    if (r->confined.lacks)
        return err_code(err, 126,
                        "process %d may not make the system call %s, which is needed (it filters "
                        "them, by seccomp); start it with 'tidemark record' instead",
                        pid, r->confined.lacks);
    return 0;
}

int borrow_thread(struct remote *r, struct err *err)
{
    int pid = r->process->pid, found;
    struct rounds rounds = {0};
    struct unsafe unsafe;

    unsafe_find(&unsafe, r->process);
    do {
        found = try_all(r, &unsafe,
                        rounds.count < ROUNDS_GENTLE ? CANDIDATE_RUNS : CANDIDATE_REPEATS);
        if (found < 0)
            return refused(pid, err);
        if (!found && stops_told_to_end())
            return err_code(err, 126, "interrupted before process %d was entered", pid);
    } while (!found && next_round(&rounds));
    if (!found)
        return err_code(err, 126,
                        "no thread of process %d could be stopped outside of the allocator and the "
                        "loader; try again",
                        pid);
    find_own_stack(r);
    return 0;
}
