/* tensor_lives - what came after each tensor of a process, by births: the phases that it lived
 * through, how many cycles of gradients, whether its stack made others. What kinds of tensors are
 * told by (tensor_kinds.h).
 */
#ifndef MODEL_TENSOR_LIVES_H
#define MODEL_TENSOR_LIVES_H

#include "base/intmap.h"
#include "model/tensors.h"

#define TENSOR_LASTS 2 /* what lives in so many cycles lasts */

struct tensor_after {           /* of a tensor, by number: the first that is born after it and is */
    uint32_t forward, backward; /* in such a phase, */
    uint32_t joined;            /* put together from others, */
    uint32_t leaves;            /* in another phase than it, */
    uint32_t same;              /* from the same stack */
    uint32_t cycle;             /* backward phases that began before it */
    bool begun;                 /* a module was called since the last of them, or an optimizer */
    bool blank;                 /* it begins as parameters do */
    uint32_t replaced;          /* 1 + the last that began so and died just before it; 0: none */
};

struct tensor_lives {
    struct tensor *const *list;
    uint32_t count, cycles, called; /* called: the first birth in a module that is called */
    struct tensor_after *after;     /* one each, and one more */
    struct intmap parameters;       /* sizes of what begins in a module as parameters do */
    struct intmap firsts;           /* stack -> its first birth */
    struct intmap cycles_of;        /* stack -> the cycles of its first birth and its last */
    struct intmap gradients;        /* by tensor_kinds: sizes that gradients have */
    struct intmap kinds; /* by tensor_kinds: stack -> what the last of it was that is known */
};

/* `list` is in the order of births, and outlives it. */
void tensor_lives_read(struct tensor_lives *j, struct tensor *const *list, size_t count);
void tensor_lives_free(struct tensor_lives *j);

/* Is it put together from others? */
bool tensor_is_joined(const struct tensor *t);
/* Alive when number `at` was born; where there is none, at the end. */
bool tensor_lives_at(const struct tensor_lives *j, const struct tensor *t, uint32_t at);
/* Is it alive TENSOR_LASTS cycles later? Where there is but one, at the end. */
bool tensor_lives_on(const struct tensor_lives *j, const struct tensor *t);
/* Its stack makes such in no other cycle, though there are some. */
bool tensor_is_born_once(const struct tensor_lives *j, const struct tensor *t);
/* Has its stack made such before? */
bool tensor_is_born_before(const struct tensor_lives *j, const struct tensor *t);
/* Has its stack made such before any module was called, so that it makes none of what modules give?
 */
bool tensor_is_of_no_call(const struct tensor_lives *j, const struct tensor *t);
/* Has its stack never made one after which gradients were computed? */
bool tensor_is_of_inference(const struct tensor_lives *j, const struct tensor *t);

#endif
