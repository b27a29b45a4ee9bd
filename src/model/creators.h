/* creators - who started the threads that allocate from a stack: for lines that pay for the threads
 * that they start. Pairs of a stack and the stack that started such a thread; of threads that
 * nobody started, only stacks without Python are noted.
 */
#ifndef MODEL_CREATORS_H
#define MODEL_CREATORS_H

#include "base/intmap.h"

struct creators { /* zeroed: empty */
    struct creators_pair {
        uint32_t stack, creator; /* creator 0: not known */
    } * pairs;                   /* in the order of first sight */
    size_t count, room;
    struct intmap known;
    uint32_t *last; /* by stack: 1 + its creator that was noted last */
    size_t last_room;
};

void creators_note(struct creators *c, uint32_t stack, uint64_t creator);
void creators_free(struct creators *c);

#endif
