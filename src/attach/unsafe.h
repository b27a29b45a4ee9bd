/* unsafe - where a thread must not be borrowed: in code that holds locks which loading a library
 * needs, or in what that code has called.
 */
#ifndef ATTACH_UNSAFE_H
#define ATTACH_UNSAFE_H

#include "attach/loaded.h"

#include <sys/user.h>

#define UNSAFE_RANGES_MOST 64
#define UNSAFE_WORDS 64

struct unsafe {
    struct unsafe_range {
        uint64_t from, to;
    } ranges[UNSAFE_RANGES_MOST];
    size_t count;
    struct unsafe_range start;                       /* what calls main: no frame is beyond it */
    struct unsafe_range calling[UNSAFE_RANGES_MOST]; /* all code of the objects that those are in */
    size_t calling_count;
    struct unsafe_range waits[UNSAFE_RANGES_MOST]; /* in the midst of it, and yet safe */
    size_t waits_count;
    struct unsafe_word { /* what has kept us from threads that run */
        uint64_t at, word;
        unsigned int seen;
    } words[UNSAFE_WORDS];
};

void unsafe_find(struct unsafe *u, const struct loaded *l);

/* Is a stopped thread with these registers clear of it? */
bool unsafe_is_elsewhere(struct unsafe *u, const struct loaded *l,
                         const struct user_regs_struct *x);

#endif
