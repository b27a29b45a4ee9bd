/* texts - each text once, under a number from 1 on: what a trace that is being written refers to.
 */
#ifndef TRACE_TEXTS_H
#define TRACE_TEXTS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct texts {       /* zeroed: empty */
    struct text *of; /* by number, from 1 */
    uint32_t *slots; /* open addressing: numbers, 0: free */
    uint32_t count, slot_count;
    uint64_t bytes; /* that all of them take */
};

/* The number of a text; *added: it is new, and was copied into the arena. */
uint32_t texts_number(struct texts *t, struct arena *a, const char *text, size_t len, bool *added);

#endif
