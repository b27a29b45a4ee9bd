/* ration - a share of our own CPU time for looking at many things, some of them at each pass: in
 * turn, so that each has its look sooner or later.
 */
#ifndef COLLECT_RATION_H
#define COLLECT_RATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ration { /* zeroed: nothing was looked at */
    uint64_t begun_ns;
    int64_t allowed_ns; /* below 0: it has taken too much */
    uint64_t used_ns;   /* as of the last time that was asked */
    size_t place, next; /* of what is asked about; whose turn it is */
    size_t taken;       /* in this pass */
    bool spent;
};

/* A pass over all of them begins, */
void ration_begin(struct ration *r, uint64_t now_ns);
/* it has come to the next one: is it its turn? Some are at each pass, however long they take. */
bool ration_takes(struct ration *r);
/* and ends. */
void ration_end(struct ration *r);

#endif
