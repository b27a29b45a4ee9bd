/* tensor_course - what lived at many moments, by what it is for: the parts of tensor_parts.h at
 * each of them, by process. They are what `decompose --at` has of each moment, and take one pass
 * for all.
 */
#ifndef QUESTIONS_TENSOR_COURSE_H
#define QUESTIONS_TENSOR_COURSE_H

#include "model/heap_edges.h"
#include "model/moments.h"
#include "questions/tensor_parts.h"

#define TENSOR_COURSE_MOST HEAP_EDGES_BINS /* moments */

struct tensor_course { /* zeroed: of no moment */
    struct heap *heap;
    struct tensor_state *tensors;
    uint64_t times[TENSOR_COURSE_MOST]; /* in their order */
    size_t count;
    struct tensor_course_of { /* by place of the process - 1 */
        uint64_t *bytes; /* by moment and kind, as differences until all was read; NULL: none */
        uint32_t *live;  /* by info that is no tensor: how many there are */
    } * of;
};

/* The highest moment of each of so many equal stretches of the time that the edges have bins of. */
void tensor_course_stretches(struct tensor_course *c, const struct heap_edges *g, size_t count);
/* The highest moment between two times, as far as bins tell them apart; else the last of them. */
uint64_t tensor_course_highest(const struct heap_edges *g, uint64_t from_ns, uint64_t to_ns);

/* The moments are known: the heap takes its events again, by h->replay. */
void tensor_course_want(struct tensor_course *c, struct heap *h, struct tensor_state *s);
/* They were read, and the kinds of tensors are known. */
void tensor_course_end(struct tensor_course *c);
/* Bytes by kind of one process, by its place in heap.processes; NULL: it has nothing. */
const uint64_t *tensor_course_of(const struct tensor_course *c, size_t place, size_t moment);
/* The same of all of them; the sum. */
uint64_t tensor_course_at(const struct tensor_course *c, size_t moment,
                          uint64_t of[TENSOR_PARTS_KINDS]);
/* The moments of a life: from *first to before *last. */
void tensor_course_life(const struct tensor_course *c, const struct tensor *t, size_t *first,
                        size_t *last);
void tensor_course_free(struct tensor_course *c);

#endif
