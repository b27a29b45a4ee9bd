/* known_leaks - what libraries keep until the end on purpose: the buffers of stdio, the caches of
 * the loader, an interpreter's own start. `leaks` leaves them out, by a list that is part of the
 * tool, and says how much that was.
 */
#ifndef MODEL_KNOWN_LEAKS_H
#define MODEL_KNOWN_LEAKS_H

#include "model/heap.h"

/* Which of them a stack is, as half a line of text; NULL: none. `stack` may be NULL. */
const char *known_leak(const struct table_stack *stack);

struct known_leaks { /* what was left out; zeroed: nothing */
    struct known_left {
        const char *what;
        uint64_t stacks;
        struct heap_amount amount;
    } left[64];
    size_t count;
    struct heap_amount sum;
};

/* Take them out of `at` of every stack. */
void known_leaks_apply(struct known_leaks *k, struct heap *h);

#endif
