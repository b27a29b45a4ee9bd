/* remote - see remote.h; how a thread finds back: arch/stopped.h.
 *
 * The thread is stopped by PTRACE_INTERRUPT, which sends no signal. If it was in a system call, the
 * kernel has left that with one of the numbers that mean "again"; with its registers back as they
 * were, at a stop of the same kind, the kernel makes it again, with what is left of its time. A few
 * calls end with EINTR instead: they are made again by us, and a thread in one of them is borrowed
 * only when there is no other.
 *
 * The end of a called function is seen by a system call: it returns to such an instruction. A
 * breakpoint would be a signal, whose handling the kernel changes in some programs.
 */
#include "attach/remote.h"

#include "attach/borrow.h"
#include "attach/stops.h"
#include "trace/ring.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NAMED_BYTES 4096u
#define TEXT_OFFSET 64u /* behind a word about all of it */
#define TEXT_BYTES 8192u
#define WAY_OFFSET                                                                                 \
    (REMOTE_SCRATCH_BYTES - ARCH_WAY_BACK_MOST - 64) /* behind a stack for what is called */
#define CALL_TRIES 120000                            /* some 30 s, for a function to return */
#define WAIT_TRIES 80                                /* until we look whether we are told to end */

/* Instructions in libc; 0: they are not there. */
static uint64_t find_code(const struct loaded *l, const unsigned char *wanted, size_t count)
{
    unsigned char code[4096];
    uint64_t unused;
    const struct loaded_object *libc = loaded_find(l, "gnu_get_libc_version", &unused);

    for (uint64_t at = libc ? libc->code_from : 0; libc && at < libc->code_to;
         at += sizeof(code) - count) {
        size_t bytes = libc->code_to - at < sizeof(code) ? libc->code_to - at : sizeof(code);
        const unsigned char *found;

        if (!loaded_read(l, at, code, bytes))
            return 0;
        found = memmem(code, bytes, wanted, count);
        if (found)
            return at + (uint64_t)(found - code);
    }
    return 0;
}

/* The first page gets a name that is seen in the process's maps: whoever comes later finds what we
 * may have left. Where there is no descriptor for that, there is no name.
 */
static int name_scratch(struct remote *r, struct err *err)
{
    const uint64_t file[6] = {remote_text(r, REMOTE_SCRATCH), MFD_CLOEXEC};
    int64_t fd = -1, ignored = -1;

    if (remote_system_call(r, SYS_memfd_create, file, &fd, err) < 0)
        return -1;
    if (fd < 0)
        return 0;
    if (remote_system_call(r, SYS_ftruncate, (const uint64_t[6]){(uint64_t)fd, NAMED_BYTES},
                           &ignored, err) < 0)
        return -1;
    if (ignored == 0 &&
        remote_system_call(r, SYS_mmap,
                           (const uint64_t[6]){r->scratch, NAMED_BYTES, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_FIXED, (uint64_t)fd, 0},
                           &ignored, err) < 0)
        return -1;
    return remote_system_call(r, SYS_close, (const uint64_t[6]){(uint64_t)fd}, &ignored, err);
}

static int map_scratch(struct remote *r, struct err *err)
{
    const uint64_t how[6] = {0,
                             REMOTE_SCRATCH_BYTES,
                             PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                             (uint64_t)-1,
                             0};
    int64_t at = 0;

    if (remote_system_call(r, SYS_mmap, how, &at, err) < 0 || at < 0)
        return err_code(err, 126, "process %d has no memory left to load a library with",
                        r->process->pid);
    r->scratch = (uint64_t)at;
    return name_scratch(r, err);
}

int remote_borrow(struct remote *r, const struct loaded *process, struct err *err)
{
    const unsigned char *code;
    size_t count;

    *r = (struct remote){.process = process};
    if (arch_stopped_lacks())
        return err_code(err, 126, "%s; start it with 'tidemark record' instead",
                        arch_stopped_lacks());
    code = arch_gadget_code(&count);
    r->landing.gadget = find_code(process, code, count);
    code = arch_restorer_code(&count);
    r->landing.restorer = find_code(process, code, count);
    if (!r->landing.gadget)
        return err_code(err, 126, "process %d has no libc that is known here", process->pid);
    if (borrow_ask(r, err) < 0 || borrow_thread(r, err) < 0)
        return -1;
    if (map_scratch(r, err) == 0)
        return 0;
    remote_return(r);
    return -1;
}

/* ---- calls ---- */

static bool at_system_call(int status)
{
    return status >> 16 == 0 && WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* The thread ends its call without us, whenever that may be, and then finds back. */
static int let_go(struct remote *r, struct err *err)
{
    int status;

    ptrace(PTRACE_INTERRUPT, r->tid, NULL, NULL);
    stops_wait(r->tid, &status, STOPS_TRIES);
    ptrace(PTRACE_DETACH, r->tid, NULL, NULL); /* should it not have stopped: when we end */
    r->gone = true;
    return err_code(err, 126,
                    "the call in process %d did not return in time; the process keeps running, and "
                    "so will the thread as soon as it can",
                    r->process->pid);
}

static bool can_be_let_go(const struct remote *r)
{
    return r->landing.restorer && r->scratch;
}

/* Wait for the thread to stop: 1; 0: it is to be let go; -1: it is gone. */
static int wait_call(const struct remote *r, int *status)
{
    for (int i = 0; i < CALL_TRIES / WAIT_TRIES; i++) {
        errno = 0;
        if (stops_wait(r->tid, status, WAIT_TRIES))
            return 1;
        if (errno == ECHILD)
            return -1;
        if (can_be_let_go(r) && stops_told_to_end())
            break;
    }
    return 0;
}

static int lost(const struct remote *r, struct err *err)
{
    return err_code(err, 126, "process %d has just ended", r->process->pid);
}

/* Go on to the next entry or exit of a system call. */
static int next_call(struct remote *r, struct user_regs_struct *x, struct err *err)
{
    int status, found;

    for (;;) {
        if (ptrace(PTRACE_SYSCALL, r->tid, NULL, NULL) < 0 || (found = wait_call(r, &status)) < 0)
            return lost(r, err);
        if (!found)
            return let_go(r, err);
        if (!arch_registers_read(r->tid, x))
            return lost(r, err);
        if (at_system_call(status))
            return 0;
        if (status >> 16 == PTRACE_EVENT_STOP)
            continue;
        r->broken = true;
        return err_code(err, 126,
                        "the call in process %d met signal %d; it runs on, but cannot be attached "
                        "to again",
                        r->process->pid,
                        WSTOPSIG(status)); /* which it does not get: it was our doing */
    }
}

/* Signals are held back only when there is a way back, which gives them free again. */
static bool set(struct remote *r, const struct user_regs_struct *x)
{
    uint64_t mask = RING_BORROWED_MASK;

    if (!arch_registers_write(r->tid, x))
        return false;
    if (!r->blocked)
        r->blocked = ptrace(PTRACE_SETSIGMASK, r->tid, (void *)sizeof(mask), &mask) == 0;
    return r->blocked;
}

/* Prepare the way back at `at`. Gives the stack pointer for what is called; 0: that failed. */
static uint64_t prepare(const struct remote *r, uint64_t at, bool result)
{
    unsigned char bytes[ARCH_WAY_BACK_MOST];
    uint64_t stack;
    size_t count = arch_way_back(&r->was, &r->landing, r->repeat, result, at, bytes, &stack);

    return loaded_write(r->process, at, bytes, count) ? stack : 0;
}

/* While our memory is made and unmade, the way back is on the thread's own stack. */
static uint64_t stack_for(const struct remote *r, long number)
{
    uint64_t at = r->own_stack;

    if (!at && r->scratch && number != SYS_munmap)
        at = r->scratch + WAY_OFFSET;
    return at && r->landing.restorer ? prepare(r, at, false) : 0;
}

int remote_system_call(struct remote *r, long number, const uint64_t arguments[6], int64_t *result,
                       struct err *err)
{
    struct user_regs_struct x = r->was.registers;

    if (confined_never(&r->confined, number)) {
        *result = -ENOSYS;
        return 0;
    }
    arch_set_system_call(&x, &r->landing, stack_for(r, number), number, arguments);
    if (!set(r, &x))
        return lost(r, err);
    for (int i = 0; i < 2; i++) /* into it, and out of it */
        if (next_call(r, &x, err) < 0)
            return -1;
    *result = arch_call_result(&x);
    return 0;
}

/* The function has returned when a system call is made where it returns to; a harmless one is
 * carried out in its place (to carry out none is also a question to a filter, and one that it may
 * not expect), and the thread stands where it finds back.
 */
int remote_call(struct remote *r, uint64_t function, uint64_t first, uint64_t second,
                uint64_t *result, struct err *err)
{
    struct user_regs_struct x = r->was.registers;
    bool wanted = result || !r->landing.restorer;
    uint64_t stack = prepare(r, r->scratch + WAY_OFFSET, wanted);

    if (!stack)
        return lost(r, err);
    arch_set_function(&x, function, stack, first, second);
    if (!set(r, &x))
        return lost(r, err);
    do {
        if (next_call(r, &x, err) < 0)
            return -1;
    } while (!arch_has_returned(&x, &r->landing, stack, wanted));
    if (result)
        *result = arch_function_result(&x);
    arch_set_entered_call(&x, SYS_getpid);
    return set(r, &x) ? next_call(r, &x, err) : lost(r, err);
}

uint64_t remote_bytes(struct remote *r, const void *bytes, size_t count)
{
    uint64_t at = r->scratch + TEXT_OFFSET;

    return count <= TEXT_BYTES && loaded_write(r->process, at, bytes, count) ? at : 0;
}

uint64_t remote_text(struct remote *r, const char *text)
{
    return remote_bytes(r, text, strlen(text) + 1);
}

void remote_read_text(const struct remote *r, uint64_t at, char *out, size_t room)
{
    size_t i = 0;

    while (at && i + 1 < room && loaded_read(r->process, at + i, &out[i], 1) && out[i])
        i++;
    out[i] = '\0';
}

/* Where it is known not to be safe, our memory stays, and says so. */
static void unmap_scratch(struct remote *r)
{
    const uint64_t where[6] = {r->scratch, REMOTE_SCRATCH_BYTES}, word = REMOTE_BROKEN;
    struct err ignored;
    int64_t result;

    if (r->scratch && r->broken)
        loaded_write(r->process, r->scratch, &word, sizeof(word));
    else if (r->scratch)
        remote_system_call(r, SYS_munmap, where, &result, &ignored);
}

void remote_return(struct remote *r)
{
    if (!r->gone)
        unmap_scratch(r);
    if (r->gone)
        return;
    /* The kernel repeats a call only after a stop of this kind. */
    ptrace(PTRACE_INTERRUPT, r->tid, NULL, NULL);
    for (int status = 0; !stops_is_ours(status);) {
        ptrace(PTRACE_CONT, r->tid, NULL, NULL); /* fails where a call has not returned */
        if (!stops_wait(r->tid, &status, CALL_TRIES))
            return;
    }
    borrow_repeat(r);
    arch_stopped_write(r->tid, &r->was);
    ptrace(PTRACE_DETACH, r->tid, NULL, NULL);
}
