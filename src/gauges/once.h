/* once - what was met in one reading, by a number; forgotten at once for the next. */
#ifndef GAUGES_ONCE_H
#define GAUGES_ONCE_H

#include <stdbool.h>
#include <stdint.h>

#define ONCE_ROOM 16384u /* a power of two */
#define ONCE_MOST (ONCE_ROOM / 2)

struct once { /* zeroed: empty */
    uint32_t reading, used;
    struct once_slot *slots; /* made when they are needed: the tool without a device has none */
};

void once_forget(struct once *m);
/* Where the value of a key is; *fresh: it was not met before, and its value is 0. NULL: there are
 * too many. */
uint32_t *once_meet(struct once *m, uint64_t key, bool *fresh);

#endif
