/* resident_rest - what resident memory is that no allocation and no mapping accounts for, in a few
 * words. */
#ifndef QUESTIONS_RESIDENT_REST_H
#define QUESTIONS_RESIDENT_REST_H

#include "model/heap.h"
#include "questions/resident_parts.h"

struct resident_rest { /* zeroed: nothing is known */
    bool known;
    uint64_t rss, places[RESIDENT_PLACES]; /* of the largest that was looked into */
    uint64_t from_ns, to_ns;               /* when, from the tick before on */
    uint64_t before_ns;
};

/* To be called at every tick. */
void resident_rest_hear(struct resident_rest *r, const struct run *run, uint64_t time_ns);

/* "210 MiB of mapped files, 40 MiB free in the allocator or of no line"; NULL: it is not known. */
const char *resident_rest_text(const struct resident_rest *r, const struct heap *h,
                               struct arena *a);

/* The places of resident memory in a tick; false: it was not looked into. Their sum is the rss. */
bool resident_places(const struct run *r, uint64_t places[RESIDENT_PLACES], uint64_t *sum);

#endif
