/* tensor_cut - what tensors are for that lived when a program was stopped: the gradients that they
 * were kept for never came. What others of their stack were says it, which came before; where there
 * are none, what a forward phase of a training program holds is its activations. Gradients that no
 * optimizer has seen yet are those of which others of their stack and size were gradients.
 */
#ifndef MODEL_TENSOR_CUT_H
#define MODEL_TENSOR_CUT_H

#include "model/tensors.h"

/* After tensor_kinds_all: change the kinds of those that live at this moment. */
void tensor_cut_judge(struct tensors *t, const struct tensors_moment *m);

#endif
