/* tensor_told - what a program itself says that its tensors are: DESCRIBED in docs/FORMAT.md, which
 * comes before what stacks suggest.
 *
 * What is told is the text of a kind (tensor_kind_text), or KEPT, or any other words, which are
 * shown and decide nothing. KEPT, that the graph holds it to compute gradients, is true of
 * parameters and inputs as well: it only tells activations from temporaries. Of two kinds the later
 * counts, but "inputs" and "activations" never take the place of another: a view of a parameter
 * goes through a model as well.
 */
#ifndef MODEL_TENSOR_TOLD_H
#define MODEL_TENSOR_TOLD_H

#include "model/tensors.h"
#include "trace/read.h"

#define TENSOR_TOLD_KEPT "kept for gradients"

enum tensor_known { TENSOR_BY_STACK, TENSOR_BY_WORD };

/* Take a DESCRIBED, after all that happened before it; others are left alone. The context is the
 * tensors. */
void tensor_told_take(void *tensors, const struct trace_event *ev);
/* What stacks say of a tensor is in `kind`: what is right, by all that is known. */
void tensor_told_apply(struct tensor *t);
/* How its kind is known, once that is so. */
enum tensor_known tensor_told_how(const struct tensor *t);

#endif
