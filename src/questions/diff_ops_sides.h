/* diff_ops_sides - what diff_ops has of each of the two that it compares, and its tables. */
#ifndef QUESTIONS_DIFF_OPS_SIDES_H
#define QUESTIONS_DIFF_OPS_SIDES_H

#include "model/tensors.h"
#include "questions/question.h"

#define DIFF_OPS_ROWS 30 /* of a table, unless another limit is given */

struct op_side {
    struct recorded *recorded;
    const struct selection *of;
    struct op_stacks *stacks;
    struct tensors *tensors;
    const struct tensor **list; /* born in the stretch, in order, */
    uint64_t *names, *sizes;    /* and what each of them is matched by */
    size_t count;
    uint64_t allocated, peak;
    const struct tensor **held; /* at the peak */
    size_t held_count;
    const struct tensor *reached; /* whose birth made it; NULL: what lived before the stretch did */
};

struct op_pairs { /* by place in the list of the first side, see align_sized */
    size_t *partner, *moved;
    bool whole;
};

/* What an operator is matched by: its name, its phase and its modules. */
uint64_t op_side_name(const struct op_stack *o);
/* Which of their lists are the same; in the arena. */
void op_sides_match(struct op_pairs *p, const struct op_side sides[2], struct arena *a);

/* What is held at the peaks, by kind, and by operator and line. */
void diff_ops_peak(struct answer *a, const struct op_side sides[2], const struct op_pairs *pairs,
                   uint64_t rows);
/* What was allocated, operator by operator. */
void diff_ops_rows(struct answer *a, const struct op_side sides[2], const struct op_pairs *pairs,
                   uint64_t rows);

/* "(3 smaller ones)", in the arena */
const char *diff_ops_rest(struct arena *a, size_t count);

#endif
