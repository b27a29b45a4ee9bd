/* op_kept - what the descriptions of stacks have in common, kept once each: texts, classes, and
 * descriptions themselves.
 */
#ifndef MODEL_OP_KEPT_H
#define MODEL_OP_KEPT_H

#include "model/op_stacks.h"

/* Equal texts are one. */
const char *op_kept_text(struct op_stacks *s, const char *text, size_t length);
struct op_class *op_kept_class(struct op_stacks *s, const char *name, size_t length);
/* Of descriptions that say the same, one; a million stacks are of few kinds. */
struct op_stack *op_kept_stack(struct op_stacks *s, const struct op_stack *like);

#endif
