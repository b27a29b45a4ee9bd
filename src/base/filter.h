/* filter - what a filter of system calls (seccomp) makes of a call, worked out without making it.
 *
 * Of a call some arguments may be unknown, and where it is made is: the filter is followed both
 * ways then, and the worst that it can come to is the answer.
 */
#ifndef BASE_FILTER_H
#define BASE_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

enum filter_fate {
    FILTER_LETS,  /* it is made */
    FILTER_FAILS, /* it fails with an error, and that is all */
    FILTER_HARMS, /* or it kills, waits for somebody, pretends to have been made */
};

struct filter_call {
    uint32_t machine; /* AUDIT_ARCH_* */
    int number;
    uint64_t arguments[6];
    unsigned int known; /* 1 << i: the argument i */
};

enum filter_fate filter_fate(const struct sock_filter *program, size_t count,
                             const struct filter_call *call);

#endif
