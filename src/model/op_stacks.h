/* op_stacks - what the stack of an allocation says of a deep-learning program: the operator that
 * made a tensor, what the program was doing (its phase), which modules it was in. No hook is needed
 * for it: see op_rules.h for the rules, which are applied from the outermost frame inward.
 */
#ifndef MODEL_OP_STACKS_H
#define MODEL_OP_STACKS_H

#include "model/op_kept.h"

struct op_stacks { /* zeroed: empty */
    struct op_stacks
        *like; /* of the same frames, which lives longer: it describes for both; NULL: none */
    const struct frames *frames;
    struct arena *arena;
    struct op_stack **known; /* by stack: its description; NULL: not asked for yet */
    struct op_kept kept;     /* what they share */
    uint32_t *meanings;      /* by frame: 1 + its place in `found`; 0: not looked at */
    unsigned char *plain;    /* by frame: enum op_plain of op_stacks.c */
    struct op_names *found;
    size_t found_count, found_room;
};

/* The frames must be all known. Descriptions are in the arena; equal texts are one. */
void op_stacks_start(struct op_stacks *s, const struct frames *f, struct arena *a);
const struct op_stack *op_stacks_get(struct op_stacks *s, uint64_t stack);
/* The same; of a stack that makes no tensors, without what is its own: `stack`, `entered` and site.
 * Millions of stacks make none.
 */
const struct op_stack *op_stacks_common(struct op_stacks *s, uint64_t stack);
void op_stacks_free(struct op_stacks *s);
/* Whose line it is. Looked for when it is first asked, as that takes long and most stacks make no
 * tensors. */
const struct table_frame *op_stack_site(const struct op_stack *o);

const char *op_phase_text(enum op_phase phase);

#endif
