/* tensor_parts - what lived at a moment, by whose it is: the kinds of tensors, and what is none.
 * The parts add up to the live heap.
 */
#ifndef QUESTIONS_TENSOR_PARTS_H
#define QUESTIONS_TENSOR_PARTS_H

#include "model/heap_labels.h"
#include "model/tensor_told.h"
#include "questions/tensor_answer.h"

/* After the kinds of tensors: what is none. */
enum {
    TENSOR_PARTS_WORKSPACE = TENSOR_KINDS,
    TENSOR_PARTS_FRAMEWORK,
    TENSOR_PARTS_OTHER,
    TENSOR_PARTS_OUTSIDE, /* of the windows: not known */
    TENSOR_PARTS_KINDS
};

/* Whose memory it is, from the general to the particular: what for, in which module, by which words
 * of the program; and how that is known. Equal texts are one.
 */
struct tensor_owner {
    int kind;
    enum tensor_known known;
    const char *module, *label;
};

struct tensor_part {
    struct tensor_owner owner;
    struct heap_amount amount;
};

struct tensor_parts {                 /* zeroed: nothing */
    const struct heap_labels *labels; /* NULL: owners have none */
    struct tensor_part *list;         /* by owner */
    size_t count, room;
    struct intmap places;
    struct heap_amount of[TENSOR_PARTS_KINDS], told[TENSOR_PARTS_KINDS];
};

/* Of the moment that heap_at was asked for last. */
void tensor_parts_sum(struct tensor_parts *p, struct asked *q, struct tensor_state *s,
                      const struct tensors_moment *m);
void tensor_parts_free(struct tensor_parts *p);

const char *tensor_parts_text(int kind);
/* Which part a tensor is of, and which one what is none. */
int tensor_parts_kind(const struct tensor *t);
int tensor_parts_rest(const struct op_stack *from);
/* All of them, in the order in which they are shown. */
extern const unsigned char tensor_parts_order[TENSOR_PARTS_KINDS];

/* The table `kinds`, and its rows. */
struct table *tensor_parts_table(struct answer *a);
void tensor_parts_put(struct answer *a, struct table *t, const struct tensor_parts *p,
                      uint64_t whole);

#endif
