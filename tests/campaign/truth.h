/* truth - the books that a program keeps of its own allocations, in a file that outlives it.
 *
 * A thread notes in its book that a call of the allocator begins and, after it, that it is done. So
 * whatever ends the process, the number of its calls is known but for one per thread. The sizes are
 * such as nothing else in these programs asks for: TRUTH_LEAST to TRUTH_MOST bytes.
 */
#ifndef CAMPAIGN_TRUTH_H
#define CAMPAIGN_TRUTH_H

#include <stdint.h>

#define TRUTH_LEAST 3001u
#define TRUTH_MOST 3256u
#define TRUTH_BOOKS 32767u

struct truth_book { /* of one thread of one process */
    uint64_t allocs_begun, allocs_done, frees_begun, frees_done, bytes_begun, bytes_done;
    uint64_t pid, reserved;
};

struct truth_log {
    uint64_t books;   /* that are in use */
    uint64_t ended;   /* processes that came to their own end */
    uint64_t started; /* set once the work is under way */
    uint64_t stop;    /* set from outside: come to an end */
    uint64_t reserved[4];
    struct truth_book book[TRUTH_BOOKS];
};

_Static_assert(sizeof(struct truth_book) == 64 && sizeof(struct truth_log) == 64 * 32768,
               "harness.py reads it so");

/* The books of this file, which exists and is large enough; ends the program when it cannot. */
void truth_open(const char *path);
extern struct truth_log *truth;
extern const char *truth_path;

/* In a child: what was allocated is the parent's, and so is its book. */
void truth_forked(void);

/* So many calls of the allocator, of all kinds; ~0: without an end. Some blocks are left. */
void truth_work(uint64_t calls);

/* The same in so many threads; waits for them. */
void truth_work_in_threads(unsigned int threads, uint64_t calls);

#endif
