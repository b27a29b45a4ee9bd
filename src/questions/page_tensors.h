/* page_tensors - the part of the page on deep learning: what tensors are for over time, by process,
 * and the tables of the questions about them, which are asked as ever.
 */
#ifndef QUESTIONS_PAGE_TENSORS_H
#define QUESTIONS_PAGE_TENSORS_H

#include "base/emit.h"
#include "questions/tensor_course.h"

#define PAGE_TENSORS_ASKS 4

struct page_tensors { /* zeroed: not begun */
    struct tensor_state tensors;
    struct tensor_course course;
    struct asked asked[PAGE_TENSORS_ASKS];
    struct answer answers[PAGE_TENSORS_ASKS];
    struct selection options; /* with as many rows as a page shows */
    bool wanted;              /* the trace has a framework of deep learning */
    bool any;                 /* and tensors */
};

/* Before the first pass and before the second, in which the edges are known. */
void page_tensors_begin(struct page_tensors *t, struct asked *q);
void page_tensors_again(struct page_tensors *t, struct asked *q, const struct heap_edges *g);
/* Both were read. */
void page_tensors_read(struct page_tensors *t, struct asked *q);
/* As an object of META; the context is the page_tensors. */
void page_tensors_emit(struct emit *j, void *tensors);
void page_tensors_free(struct page_tensors *t);

#endif
