/* x86_64_stopped - see stopped.h. */
#include "arch/stopped.h"

#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#define FLAGS 7             /* vector state is there, the stack's segment is there and is taken */
#define NO_SUCH_STACK 3     /* which the kernel refuses: the thread keeps its stack for signals */
#define SOFTWARE_BYTES 464u /* where the vector state says what it is */
#define MAGIC_BEGIN 0x46505853u
#define MAGIC_END 0x46505845u
#define USUAL_MOST                                                                                 \
    2696u /* up to the protection keys: all that a thread has without asking for more */
#define USUAL_PARTS 0x2ffull
#define SEGMENT_64 0x33
#define DIRECTION_AND_TRAP 0x500ull
#define RED_ZONE 128u
#define INSTRUCTION_BYTES 2u /* of a system call */

static const unsigned char gadget[] = {0x0f, 0x05, 0xc3}; /* syscall; ret */
static const unsigned char restorer[] = {0x48, 0xc7, 0xc0, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05};

const char *arch_stopped_lacks(void)
{
    return NULL;
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

/* ---- all of them ---- */

bool arch_registers_read(int tid, struct user_regs_struct *x)
{
    return ptrace(PTRACE_GETREGS, tid, NULL, x) == 0;
}

bool arch_registers_write(int tid, const struct user_regs_struct *x)
{
    return ptrace(PTRACE_SETREGS, tid, NULL, x) == 0;
}

bool arch_stopped_read(int tid, struct arch_stopped *s)
{
    struct iovec state = {s->state, sizeof(s->state)};

    if (!arch_registers_read(tid, &s->registers) ||
        ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &state) < 0 ||
        ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(s->mask), &s->mask) < 0)
        return false;
    s->state_bytes = state.iov_len;
    return true;
}

bool arch_stopped_write(int tid, const struct arch_stopped *s)
{
    struct iovec state = {(void *)s->state, s->state_bytes};
    bool done;

    done = ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(s->mask), &s->mask) == 0;
    done &= ptrace(PTRACE_SETREGSET, tid, (void *)NT_X86_XSTATE, &state) == 0;
    return arch_registers_write(tid, &s->registers) && done;
}

/* ---- what they say ---- */

bool arch_is_native(const struct user_regs_struct *x)
{
    return x->cs == SEGMENT_64;
}

uint64_t arch_program_counter(const struct user_regs_struct *x)
{
    return x->rip;
}

uint64_t arch_stack_pointer(const struct user_regs_struct *x)
{
    return x->rsp;
}

uint64_t arch_thread_data(const struct user_regs_struct *x)
{
    return x->fs_base;
}

uint64_t arch_first_argument(const struct user_regs_struct *x)
{
    return x->rdi;
}

unsigned int arch_red_zone(void)
{
    return RED_ZONE;
}

long arch_call_number(const struct user_regs_struct *x)
{
    return (int64_t)x->orig_rax < 0 ? -1 : (long)x->orig_rax;
}

int64_t arch_call_result(const struct user_regs_struct *x)
{
    return (int64_t)x->rax;
}

/* mov NUMBER, %eax; syscall */
long arch_call_in_code(const unsigned char before[ARCH_CALL_CODE_BYTES])
{
    const unsigned char *code = before + ARCH_CALL_CODE_BYTES - INSTRUCTION_BYTES - 5;
    uint32_t number;

    if (code[0] != 0xb8)
        return -1;
    memcpy(&number, code + 1, sizeof(number));
    return (long)number;
}

/* ---- what they are to be ---- */

/* There is none that the kernel would make again. */
static void forget_call(struct user_regs_struct *x)
{
    x->orig_rax = (uint64_t)-1;
}

void arch_set_entered_call(struct user_regs_struct *x, long call)
{
    x->orig_rax = (uint64_t)call;
}

void arch_set_repeat(struct user_regs_struct *x, long call)
{
    x->rax = (uint64_t)call;
    forget_call(x);
    x->rip -= INSTRUCTION_BYTES;
}

void arch_set_system_call(struct user_regs_struct *x, const struct arch_landing *l, uint64_t stack,
                          long number, const uint64_t arguments[6])
{
    x->rsp = stack ? stack : x->rsp;
    x->rip = l->gadget;
    forget_call(x);
    x->rax = (uint64_t)number;
    x->rdi = arguments[0];
    x->rsi = arguments[1];
    x->rdx = arguments[2];
    x->r10 = arguments[3];
    x->r8 = arguments[4];
    x->r9 = arguments[5];
}

void arch_set_function(struct user_regs_struct *x, uint64_t function, uint64_t stack,
                       uint64_t first, uint64_t second)
{
    x->rip = function;
    x->rsp = stack;
    x->rbp = 0;
    forget_call(x);
    x->rax = 0;
    x->rdi = first;
    x->rsi = second;
    x->eflags &= ~DIRECTION_AND_TRAP;
}

bool arch_has_returned(struct user_regs_struct *x, const struct arch_landing *l, uint64_t stack,
                       bool result)
{
    uint64_t at = result ? l->gadget + INSTRUCTION_BYTES : l->restorer + sizeof(restorer);

    if (x->rsp != stack + 8 || x->rip != at)
        return false;
    if (!result)
        x->rip = l->restorer;
    return true;
}

uint64_t arch_function_result(const struct user_regs_struct *x)
{
    return x->orig_rax;
}

/* ---- the way back ---- */

struct software { /* struct _fpx_sw_bytes of the kernel */
    uint32_t begin, all_bytes;
    uint64_t parts;
    uint32_t bytes, padding[7];
};

static void make_registers(const struct user_regs_struct *x, greg_t *g)
{
    const uint64_t values[] = {x->r8,
                               x->r9,
                               x->r10,
                               x->r11,
                               x->r12,
                               x->r13,
                               x->r14,
                               x->r15,
                               x->rdi,
                               x->rsi,
                               x->rbp,
                               x->rbx,
                               x->rdx,
                               x->rax,
                               x->rcx,
                               x->rsp,
                               x->rip,
                               x->eflags,
                               x->cs | x->ss << 48};

    _Static_assert(REG_CSGSFS + 1 == sizeof(values) / sizeof(values[0]), "in the kernel's order");
    memcpy(g, values, sizeof(values));
}

static size_t make_state(const struct arch_stopped *s, unsigned char *to)
{
    struct software w = {.begin = MAGIC_BEGIN, .bytes = (uint32_t)s->state_bytes};
    uint32_t end = MAGIC_END;

    memcpy(to, s->state, s->state_bytes);
    memcpy(&w.parts, to + SOFTWARE_BYTES, sizeof(w.parts)); /* as ptrace has it there */
    if (w.bytes > USUAL_MOST) {
        w.bytes = USUAL_MOST;
        w.parts &= USUAL_PARTS;
    }
    w.all_bytes = w.bytes + (uint32_t)sizeof(end);
    memcpy(to + SOFTWARE_BYTES, &w, sizeof(w));
    memcpy(to + w.bytes, &end, sizeof(end));
    return w.all_bytes;
}

/* What rt_sigreturn takes at its stack pointer. */
static size_t make_frame(const struct arch_stopped *s, long repeat, uint64_t at,
                         unsigned char *bytes)
{
    struct user_regs_struct x = s->registers;
    uint64_t state = (at + sizeof(ucontext_t) + 63) & ~63ull;
    ucontext_t u;

    memset(&u, 0, sizeof(u));
    if (repeat >= 0)
        arch_set_repeat(&x, repeat);
    u.uc_flags = FLAGS;
    u.uc_stack.ss_flags = NO_SUCH_STACK;
    make_registers(&x, u.uc_mcontext.gregs);
    u.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)state;
    memcpy(&u.uc_sigmask, &s->mask, sizeof(s->mask));
    memset(bytes, 0, state - at);
    memcpy(bytes, &u, sizeof(u));
    return state - at + make_state(s, bytes + (state - at));
}

/* Return addresses, each popped by what is before it: the gadget's, if the result is wanted, and
 * the restorer's. The first of them is where a function finds the stack pointer aligned as by a
 * call.
 */
size_t arch_way_back(const struct arch_stopped *s, const struct arch_landing *l, long repeat,
                     bool result, uint64_t at, unsigned char bytes[ARCH_WAY_BACK_MOST],
                     uint64_t *stack)
{
    const uint64_t returns[2] = {l->gadget, l->restorer};
    size_t before = result ? 24 : 16;

    memset(bytes, 0, before);
    memcpy(bytes + before - sizeof(returns), returns, sizeof(returns));
    *stack = at + 8;
    return before + make_frame(s, repeat, at + before, bytes + before);
}
