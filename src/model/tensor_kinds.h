/* tensor_kinds - what each tensor is for, by the phase in which it was born and how long it lived:
 * a pure function over the tensors of one process, in the order of their births.
 *
 * - parameter: born where a module was made, moved or loaded, blank or in place of one that was,
 *   and alive in the next forward phase; or outside of modules, with a gradient of its size;
 *   or a rank's part of some
 * - buffer: the same, but computed and without a gradient of its size; or born once in a forward
 *   phase, and kept
 * - gradient: born in a backward phase, and alive after it; or until its end, if of a parameter's
 *   size; but an activation if it dies while the next gradients are computed, those of gradients
 * - optimizer: born in a step of an optimizer, and alive after it
 * - activation: born in a forward phase (or again, to compute gradients), and alive when the next
 *   gradients are computed; if none are, alive after its forward phase, or at the end of the
 *   recording, where that has no other phase
 * - input: made outside of modules, and alive then; or copied, or computed before a module is
 *   called, and kept after the next gradients, if its stack has made such before any module was
 *   called at all: else it may be what a module has given, and is unknown
 * - cache: without gradients: put together from others, and alive when its stack does so again, or
 *   when another stack does from which it then grows
 * - temporary: what is none of these
 *
 * Lives end by births, not by times: "alive in" is at the first birth there. A kind that cannot be
 * told from the lives is TENSOR_UNKNOWN.
 */
#ifndef MODEL_TENSOR_KINDS_H
#define MODEL_TENSOR_KINDS_H

#include "model/tensors.h"

/* Sets `kind`; `left`, the first birth after it in another phase; and `needed`, the first at which
 * gradients are computed after it. Both may be the count: there is none.
 */
void tensor_kinds_judge(struct tensor *const *list, size_t count);
/* Of all processes. */
void tensor_kinds_all(struct tensors *t, struct arena *a);

#endif
