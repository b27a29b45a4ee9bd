/* heap_source - what one process has waiting to be put in order, batch by batch; see heap_order.c.
 * All other records are one source of their own.
 */
#ifndef MODEL_HEAP_SOURCE_H
#define MODEL_HEAP_SOURCE_H

#include "model/heap_course.h"
#include "model/heap_turn.h"
#include "trace/batch.h"
#include "trace/mappings.h"
#include "trace/read.h"

struct heap_mapped_change { /* the tail of an MMAP that waits: what it changed */
    struct mapping mapping;
    struct mapping_change change; /* whose mapping is the one above */
};

struct heap_pending { /* a record that waits */
    struct heap_pending *next;
    uint64_t first_ns, order; /* order: in the trace */
    struct trace_event ev;
    struct heap_course *courses; /* of a batch; NULL: its events are read */
    size_t course_count;
    _Alignas(8) unsigned char tail[];
};

struct heap_source {
    struct heap_pending *first, *last;
    struct heap_turn turn; /* of what it has next: in one process time does not go back */
    uint32_t place;
    bool once;                  /* it goes with its only record */
    bool ends;                  /* its process was seen to end, and ends after what it has */
    struct batch_reader reader; /* of the first, where it is open */
    bool open;
    size_t count, at;           /* of the portion, or of the first one's courses: */
    struct batch_item *portion; /* PORTION of them, while they are read: of one run */
};

struct heap_waiting { /* in all sources */
    size_t bytes;
    uint64_t records; /* that have ever waited */
};

enum heap_rank heap_source_rank(const struct trace_event *ev);
/* Put a record at its end; true: it had nothing before. `courses` of a batch: NULL: none. */
bool heap_source_push(struct heap_waiting *w, struct heap_source *s, const struct trace_event *ev,
                      const struct heap_courses *courses);
/* When what comes next of its batch is. */
uint64_t heap_source_next_ns(const struct heap_source *s);
/* The first record is done with. */
void heap_source_drop(struct heap_waiting *w, struct heap_source *s);
/* The next events of its batch are of this time, or, as its process has come further, later. */
void heap_source_time(struct heap_source *s, uint64_t time_ns);
/* What it has next is known; false: it has nothing any more. */
bool heap_source_advance(struct heap_waiting *w, struct heap_source *s);

#endif
