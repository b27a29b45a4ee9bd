/* op_kept - what the descriptions of stacks have in common, kept once each: texts, classes, and
 * descriptions themselves.
 */
#ifndef MODEL_OP_KEPT_H
#define MODEL_OP_KEPT_H

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
    bool shard;     /* for a rank's part of parameters */
    bool outside;   /* of the windows: nothing is known of it */
};

struct op_kept { /* zeroed but for its arena: empty */
    struct arena *arena;
    struct intmap texts;   /* hash of a text -> the text */
    struct intmap classes; /* text -> its class */
    struct intmap stacks;  /* hash of a description -> it */
};

/* Equal texts are one. */
const char *op_kept_text(struct op_kept *s, const char *text, size_t length);
struct op_class *op_kept_class(struct op_kept *s, const char *name, size_t length);
/* Of descriptions that say the same, one; a million stacks are of few kinds. */
struct op_stack *op_kept_stack(struct op_kept *s, const struct op_stack *like);
void op_kept_free(struct op_kept *s);

#endif
