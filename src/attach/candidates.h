/* candidates - which thread of a process is best borrowed. */
#ifndef ATTACH_CANDIDATES_H
#define ATTACH_CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CANDIDATE_WAITS,   /* in a call that the kernel repeats */
    CANDIDATE_RUNS,    /* or in one that has nothing to repeat */
    CANDIDATE_REPEATS, /* in one that we would have to repeat */
    CANDIDATE_NEVER
};

/* One of the above. */
int candidates_rank(int pid, int tid);

/* Has it ended, if it is not waited for? */
bool candidates_is_over(int pid, int tid);

/* Does a call fail with EINTR whatever interrupts it? */
bool candidates_end_early(long call);

/* Where its stack is when it waits in the kernel; 0: not known. */
uint64_t candidates_stack(int pid, int tid);

#endif
