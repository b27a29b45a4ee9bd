/* waste - stretches of lives in which memory was held that nobody needed: a pure function over
 * blocks, what is known of their uses, and steps.
 *
 *   unused           it was never read nor written
 *   early            others were born or died before it was used for the first time
 *   late             the same after it was used for the last time
 *   long             late, and a step ended meanwhile; also where it was never freed
 *   idle             between two uses, if the peak is there: it could have been elsewhere, or made
 * again again            it died, and the next that happened was that its stack made one of its
 * size
 *
 * Where nothing is known of its uses, a block is only `again`; or `long`, if it is a gradient that
 * is kept after the optimizer has used it. The write of the operator that made it is a use.
 */
#ifndef MODEL_WASTE_H
#define MODEL_WASTE_H

#include "model/moments.h"
#include "model/tensor_curve.h"
#include "model/uses.h"

enum waste_kind {
    WASTE_UNUSED,
    WASTE_EARLY,
    WASTE_LATE,
    WASTE_LONG,
    WASTE_IDLE,
    WASTE_AGAIN,
    WASTE_KINDS
};

struct waste {
    enum waste_kind kind;
    bool by_uses; /* not by stacks alone */
    uint32_t tensor;
    size_t from, to;        /* edges: as in tensor_curve_try */
    uint64_t before, after; /* strings: who used it before that stretch, and after it; 0: nobody */
};

struct wastes { /* zeroed: empty */
    const struct tensors *tensors;
    const struct uses *uses; /* NULL: none are known */
    const struct tensor_curve *curve;
    const struct moments *moments;
    struct tensor ***of;   /* see tensors_by_process */
    struct waste_stretch { /* of edges */
        size_t from, to;
    } * known;       /* by place of the windows of uses */
    bool everywhere; /* idle ones also where the peak is not */
    struct waste *list;
    size_t count, room;
};

/* Fill the list, of each block together, those that are `again` at its end; its other fields are
 * set, and the kinds of tensors are judged.
 */
void wastes_find(struct wastes *w);
/* Are the uses of a block known? */
bool wastes_know(const struct wastes *w, uint32_t tensor);
void wastes_free(struct wastes *w);

const char *waste_kind_text(enum waste_kind kind);

#endif
