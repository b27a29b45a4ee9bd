/* op_stacks - what the stack of an allocation says of a deep-learning program: the operator that
 * made a tensor, what the program was doing (its phase), which modules it was in. No hook is needed
 * for it: see op_rules.h for the rules, which are applied from the outermost frame inward.
 */
#ifndef MODEL_OP_STACKS_H
#define MODEL_OP_STACKS_H

#include "model/frames.h"
#include "model/op_rules.h"

enum op_phase {
    OP_PHASE_OTHER,     /* the program's own code, outside of all that follows */
    OP_PHASE_BUILD,     /* a module is made, moved or loaded */
    OP_PHASE_FORWARD,   /* in the call of a module */
    OP_PHASE_BACKWARD,  /* gradients are computed */
    OP_PHASE_RECOMPUTE, /* a module is called again for them: activations that were not kept */
    OP_PHASE_OPTIMIZER,
};

/* A class of the program. It is one of modules if such a module was called, or makes others as it
 * is made; else it holds what is no model's: data, a memory of experience. Known once all stacks
 * are.
 */
struct op_class {
    bool module;
};

struct op_stack {
    const char *framework; /* NULL: it has no frame of any */
    const char *op;        /* the innermost operator; NULL: there is none */
    const char
        *called;      /* the outermost one that Python called, which is the same or has called it */
    const char *node; /* in the backward phase: whose gradients */
    const char *modules; /* classes of the modules it is in, as Net/Block/Linear; NULL: in none */
    const struct op_class *maker; /* the class of the object that code of the program makes; NULL */
    const struct frames *frames;
    uint64_t stack;
    uint64_t
        entered; /* the stack that called an optimizer or the engine of gradients; 0: neither */
    uint64_t step_line;      /* where the first of the framework's optimizers was in its `step` */
    struct table_frame site; /* by op_stack_site alone */
    bool sited;
    enum op_phase phase;
    bool native;    /* it has frames of native code */
    bool tensor;    /* its blocks are the memory of tensors */
    bool workspace; /* or what kernels work in */
    bool reserve;   /* or what a framework's pool takes, to make tensors of it later */
    bool data;      /* where inputs are read */
    bool bucket;    /* for gradients, of which other ranks are told */
    bool outside;   /* of the windows: nothing is known of it */
};

struct op_stacks { /* zeroed: empty */
    struct op_stacks
        *like; /* of the same frames, which lives longer: it describes for both; NULL: none */
    const struct frames *frames;
    struct arena *arena;
    struct op_stack **known; /* by stack: its description; NULL: not asked for yet */
    struct intmap texts;     /* hash of a text -> the text */
    struct intmap classes;   /* text -> its class */
    struct intmap commons;   /* hash of a description that many stacks share -> it */
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
