/* heap_queue - the sources that have something, by the time of what they have next: a binary heap.
 */
#ifndef MODEL_HEAP_QUEUE_H
#define MODEL_HEAP_QUEUE_H

#include "model/heap_source.h"

struct heap_queue {            /* zeroed: empty */
    struct heap_source **list; /* the earliest first */
    size_t count, room;
};

void heap_queue_add(struct heap_queue *q, struct heap_source *s);
/* What the first has next has changed. */
void heap_queue_settle(struct heap_queue *q);
/* The first has nothing any more. */
void heap_queue_drop(struct heap_queue *q);
/* The earliest but the first; NULL: there is none. */
const struct heap_source *heap_queue_second(const struct heap_queue *q);

bool heap_source_is_before(const struct heap_source *a, const struct heap_source *b);

#endif
