/* what_if - the peak of all tensors if some were allocated later, freed earlier, smaller, or not
 * there while nobody needs them: lives are changed on paper, by any number of ideas at once. A pure
 * function over tensors, what is known of their uses, and phases.
 *
 * When a tensor is needed is told by accesses where its uses are known. Where they are not, phases
 * prove it of three kinds: activations are used when the next tensor is born, and again before they
 * die; gradients are not needed after the optimizer's step; and what optimizers keep is used in
 * their steps alone.
 *
 * Ideas that are taken together do not count twice: what is away cannot be smaller as well.
 */
#ifndef MODEL_WHAT_IF_H
#define MODEL_WHAT_IF_H

#include "model/waste.h"

enum what_if_how {
    WHAT_IF_FIRST_USE,  /* allocated at their first use */
    WHAT_IF_LAST_USE,   /* freed after their last use, or never allocated if there is none */
    WHAT_IF_AFTER_STEP, /* gradients: freed after the optimizer's step, by phases */
    WHAT_IF_SMALLER,    /* in another type */
    WHAT_IF_AGAIN,      /* activations: not kept from the forward phase to the backward */
    WHAT_IF_AWAY,       /* elsewhere while nobody needs them */
    WHAT_IF_HOWS
};

struct what_if_idea {
    enum what_if_how how;
    enum tensor_kind kind;
    unsigned int permille; /* WHAT_IF_SMALLER: what is left of each */
    uint32_t module, line; /* of one alone: 1 + its place in the list; 0: of all */
    uint64_t at_peak, peak,
        fall; /* bytes that it is about at the peak; the new peak; the difference */
};

struct what_if_stretch { /* of edges of the curve, from..to-1 */
    size_t from, to;
};

struct what_if_stretches {
    struct what_if_stretch *list;
    size_t count, room;
};

struct what_if_texts { /* each once */
    struct intmap places;
    const struct op_stack **from; /* of a line: any that has it */
    const char **list;            /* of a module; NULL: outside of modules */
    size_t count, room;
};

#define WHAT_IF_TAKEN_MOST 16

struct what_if { /* zeroed: empty */
    const struct tensors *tensors;
    const struct uses *uses; /* NULL: none are known */
    struct tensor_curve curve;
    uint64_t *live; /* of the curve, as it is without any idea */
    struct wastes wastes;
    uint32_t *first; /* by place in the list of tensors: its first waste */
    struct what_if_stretches
        *stepping; /* by place of the process - 1: while it is in an optimizer */
    struct what_if_texts modules, lines;
    uint32_t *module, *line;       /* by place in the list: 1 + that in these */
    uint32_t *of[TENSOR_KINDS];    /* tensors of each kind, */
    size_t count[TENSOR_KINDS];    /* and how many */
    struct what_if_stretches gaps; /* of the tensor that is looked at */
    struct what_if_idea taken[WHAT_IF_TAKEN_MOST];
    size_t taken_count;
    bool trains;   /* gradients are computed */
    bool unjudged; /* at the peak there are tensors of whose uses nothing is known */
};

/* Of tensors that were all read, with their kinds; from_ns .. to_ns (0: the end) is asked about. */
void what_if_start(struct what_if *w, const struct tensors *t, const struct uses *u,
                   const struct moments *m, struct arena *a, uint64_t from_ns, uint64_t to_ns);
void what_if_free(struct what_if *w);

/* Is a tensor of those that it is about? */
bool what_if_is_of(const struct what_if *w, const struct what_if_idea *idea, uint32_t tensor);
/* By how much less there would be at the present peak, which falls by no more than that. */
uint64_t what_if_bound(struct what_if *w, const struct what_if_idea *idea);
/* The new peak with one more idea; without one that was taken. */
uint64_t what_if_try(struct what_if *w, const struct what_if_idea *idea);
uint64_t what_if_without(struct what_if *w, size_t taken);
/* From here on it is so; and all is as it was. */
void what_if_take(struct what_if *w, const struct what_if_idea *idea);
void what_if_reset(struct what_if *w);

#endif
