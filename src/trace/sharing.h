/* sharing - shared memory that several mappings, of one or more processes, are of: one of them
 * counts. */
#ifndef TRACE_SHARING_H
#define TRACE_SHARING_H

#include "base/intmap.h"
#include "trace/mapping.h"

struct sharing { /* zeroed: none */
    struct intmap places;
    struct sharing_object {
        struct mapping *first;
        size_t counting; /* how many of them count */
    } * list;
    size_t count, room;
};

/* All of these leave mappings alone that are of no object. */
void sharing_link(struct sharing *o, struct mapping *p);
/* Does nobody else count for its object? */
bool sharing_may_count(struct sharing *o, const struct mapping *p);
/* It has gone, and what is left of it is linked by now. Where nothing counts any more another
 * mapping does from here on, which is returned; else NULL.
 */
const struct mapping *sharing_unlink(struct sharing *o, const struct mapping *p);
void sharing_free(struct sharing *o);

#endif
