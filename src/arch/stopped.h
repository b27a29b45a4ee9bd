/* stopped - a thread of another process that is stopped by ptrace: its registers, and how it is
 * made to call something there and finds back. Part of the processor's contract (see arch.h), apart
 * from it as it does not run inside of anybody's program.
 *
 * The way back. The kernel can give a thread all its registers, its vector state and its mask of
 * signals at once, at the end of a signal handler (rt_sigreturn). So the last return address of all
 * that a borrowed thread does for us leads to that system call, and there is what the thread was
 * when we took it: whether we let it go, are killed or lose patience, it ends our call and goes on
 * as before.
 */
#ifndef ARCH_STOPPED_H
#define ARCH_STOPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define ARCH_STATE_MOST 32768u
#define ARCH_WAY_BACK_MOST (ARCH_STATE_MOST + 2048u) /* bytes, with all that leads to it */

struct arch_stopped {
    struct user_regs_struct registers;
    unsigned char state[ARCH_STATE_MOST]; /* of the other registers */
    size_t state_bytes;
    uint64_t mask; /* of signals */
};

/* Code in the process that we use; 0: it is not there. */
struct arch_landing {
    uint64_t gadget;   /* makes a system call, and returns */
    uint64_t restorer; /* makes the one that gives all registers back */
};

/* Why threads cannot be borrowed on this processor: half a sentence; NULL: they can. */
const char *arch_stopped_lacks(void);

/* The code of a landing, as instructions of libc; with its number of bytes. */
const unsigned char *arch_gadget_code(size_t *count);
const unsigned char *arch_restorer_code(size_t *count);

/* All of a stopped thread, or its registers alone. False: it is gone. */
bool arch_stopped_read(int tid, struct arch_stopped *s);
bool arch_stopped_write(int tid, const struct arch_stopped *s);
bool arch_registers_read(int tid, struct user_regs_struct *x);
bool arch_registers_write(int tid, const struct user_regs_struct *x);

/* Does it run code of the kind that this file is for? */
bool arch_is_native(const struct user_regs_struct *x);
uint64_t arch_program_counter(const struct user_regs_struct *x);
uint64_t arch_stack_pointer(const struct user_regs_struct *x);
uint64_t arch_thread_data(const struct user_regs_struct *x); /* where libc keeps the thread's own */
uint64_t arch_first_argument(const struct user_regs_struct *x);
unsigned int arch_red_zone(void); /* bytes beyond the stack pointer that are in use */

/* The system call that it is in or has just left; -1: none. And what that has returned: while it is
 * in there, what it will. */
long arch_call_number(const struct user_regs_struct *x);
int64_t arch_call_result(const struct user_regs_struct *x);

/* The same where the kernel goes on with an interrupted call by one of its own: as the code says
 * which is before the instruction, all that has been read.
 */
#define ARCH_CALL_CODE_BYTES 16u
long arch_call_in_code(const unsigned char before[ARCH_CALL_CODE_BYTES]);

/* That call is to be made again. */
void arch_set_repeat(struct user_regs_struct *x, long call);
/* At its entry: that call is to be made instead. */
void arch_set_entered_call(struct user_regs_struct *x, long call);

/* To make a system call at the gadget, or call a function with two arguments; `stack` is of
 * arch_way_back, 0: its own. */
void arch_set_system_call(struct user_regs_struct *x, const struct arch_landing *l, uint64_t stack,
                          long number, const uint64_t arguments[6]);
void arch_set_function(struct user_regs_struct *x, uint64_t function, uint64_t stack,
                       uint64_t first, uint64_t second);

/* What is to be at `at`, a multiple of 64, for a thread to find back; with a `result`, a function's
 * is to be seen before, by a system call of that number. `repeat` is the call that is to be made
 * again; -1: none. Gives the number of bytes, and the stack pointer of what is called.
 */
size_t arch_way_back(const struct arch_stopped *s, const struct arch_landing *l, long repeat,
                     bool result, uint64_t at, unsigned char bytes[ARCH_WAY_BACK_MOST],
                     uint64_t *stack);

/* At the entry of a system call: has the function returned, so that this call is the one of the
 * landing? Without a result, that is made anew where the thread goes on from here. */
bool arch_has_returned(struct user_regs_struct *x, const struct arch_landing *l, uint64_t stack,
                       bool result);
uint64_t arch_function_result(const struct user_regs_struct *x);

#endif
