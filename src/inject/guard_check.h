/* guard_check - may the pages of watched memory be kept from being written to, without harm to the program? The
 * kernel's own files say what they are and what its threads do.
 */
#ifndef INJECT_GUARD_CHECK_H
#define INJECT_GUARD_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Why memory is watched by looks alone. Numbers of a trace (TRACE_WATCH_LOOKED), only ever added. */
enum guard_refusal {
    GUARD_KEPT = 0, /* it is not: its pages are kept */
    GUARD_UNASKED,
    GUARD_SMALL, /* no page lies wholly in it */
    GUARD_STACK,
    GUARD_READ_ONLY, /* it cannot be written, or not all of it */
    GUARD_KERNEL,    /* the kernel does not allow it: pages of another size, a filter, no /proc */
    GUARD_MASKED,    /* a thread has blocked the signal of a fault */
    GUARD_RING,      /* io_uring writes without a call that could be seen */
    GUARD_TAKEN,   /* the program has changed its rights, or given it to the kernel to write into */
    GUARD_SIGNALS, /* another handler has taken the place of ours */
};

/* `rights`: what the pages have now. */
enum guard_refusal guard_check(uintptr_t low, uintptr_t high, int *rights);

/* At the last check: may a thread be made to trap after one instruction? Not under a debugger. */
bool guard_check_steps(void);

#endif
