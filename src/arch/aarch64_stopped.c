/* aarch64_stopped - see stopped.h.
 *
 * What registers say is here. Borrowing a thread is not: the kernel shows a call that it repeats
 * with its first argument and its instruction already put back, and a way back over two return
 * addresses needs code that loads the link register, which libc is not known to have. Until that is
 * written and tried on such a machine, threads are not borrowed.
 */
#include "arch/stopped.h"

#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static const unsigned char gadget[] = {0x01, 0, 0, 0xd4, 0xc0, 0x03, 0x5f, 0xd6}; /* svc; ret */
static const unsigned char restorer[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};

_Static_assert(SYS_rt_sigreturn == 139, "mov x8, #139; svc, above");

const char *arch_stopped_lacks(void)
{
    return "entering a process that runs is not written for this processor";
}

const unsigned char *arch_gadget_code(size_t *count)
{
    *count = sizeof(gadget);
    return gadget;
}

const unsigned char *arch_restorer_code(size_t *count)
{
    *count = sizeof(restorer);
    return restorer;
}

static bool transfer(int request, int tid, long what, void *to, size_t *bytes)
{
    struct iovec v = {to, *bytes};
    bool done = ptrace(request, tid, (void *)what, &v) == 0;

    *bytes = v.iov_len;
    return done;
}

bool arch_registers_read(int tid, struct user_regs_struct *x)
{
    size_t bytes = sizeof(*x);

    return transfer(PTRACE_GETREGSET, tid, NT_PRSTATUS, x, &bytes);
}

bool arch_registers_write(int tid, const struct user_regs_struct *x)
{
    size_t bytes = sizeof(*x);

    return transfer(PTRACE_SETREGSET, tid, NT_PRSTATUS, (void *)x, &bytes);
}

bool arch_stopped_read(int tid, struct arch_stopped *s)
{
    s->state_bytes = sizeof(s->state);
    return arch_registers_read(tid, &s->registers) &&
           transfer(PTRACE_GETREGSET, tid, NT_FPREGSET, s->state, &s->state_bytes) &&
           ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(s->mask), &s->mask) == 0;
}

bool arch_stopped_write(int tid, const struct arch_stopped *s)
{
    size_t bytes = s->state_bytes;
    bool done;

    done = ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(s->mask), &s->mask) == 0;
    done &= transfer(PTRACE_SETREGSET, tid, NT_FPREGSET, (void *)s->state, &bytes);
    return arch_registers_write(tid, &s->registers) && done;
}

bool arch_is_native(const struct user_regs_struct *x)
{
    return !(x->pstate & 0x10); /* else a 32-bit program */
}

uint64_t arch_program_counter(const struct user_regs_struct *x)
{
    return x->pc;
}

uint64_t arch_stack_pointer(const struct user_regs_struct *x)
{
    return x->sp;
}

/* In a register that is not among these. */
uint64_t arch_thread_data(const struct user_regs_struct *x)
{
    (void)x;
    return 0;
}

uint64_t arch_first_argument(const struct user_regs_struct *x)
{
    return x->regs[0];
}

unsigned int arch_red_zone(void)
{
    return 0;
}

/* Not told apart from one that runs, see above. */
long arch_call_number(const struct user_regs_struct *x)
{
    (void)x;
    return -1;
}

int64_t arch_call_result(const struct user_regs_struct *x)
{
    return (int64_t)x->regs[0];
}

long arch_call_in_code(const unsigned char before[ARCH_CALL_CODE_BYTES])
{
    (void)before;
    return -1;
}

/* By then the number is in a set of its own (NT_ARM_SYSTEM_CALL), not among these. */
void arch_set_entered_call(struct user_regs_struct *x, long call)
{
    (void)x, (void)call;
}

void arch_set_repeat(struct user_regs_struct *x, long call)
{
    x->regs[8] = (uint64_t)call;
    x->pc -= 4;
}

void arch_set_system_call(struct user_regs_struct *x, const struct arch_landing *l, uint64_t stack,
                          long number, const uint64_t arguments[6])
{
    memcpy(x->regs, arguments, 6 * sizeof(arguments[0]));
    x->regs[8] = (uint64_t)number;
    x->sp = stack ? stack : x->sp;
    x->pc = l->gadget;
}

void arch_set_function(struct user_regs_struct *x, uint64_t function, uint64_t stack,
                       uint64_t first, uint64_t second)
{
    x->regs[0] = first;
    x->regs[1] = second;
    x->regs[29] = 0;
    x->sp = stack;
    x->pc = function;
}

bool arch_has_returned(struct user_regs_struct *x, const struct arch_landing *l, uint64_t stack,
                       bool result)
{
    (void)x, (void)l, (void)stack, (void)result;
    return false; /* without a way back nothing is called */
}

uint64_t arch_function_result(const struct user_regs_struct *x)
{
    return x->regs[0];
}

size_t arch_way_back(const struct arch_stopped *s, const struct arch_landing *l, long repeat,
                     bool result, uint64_t at, unsigned char bytes[ARCH_WAY_BACK_MOST],
                     uint64_t *stack)
{
    (void)s, (void)l, (void)repeat, (void)result, (void)at, (void)bytes;
    *stack = 0;
    return 0;
}
