/* step_birth - a tensor that was born, as the search for steps needs it. */
#ifndef MODEL_STEP_BIRTH_H
#define MODEL_STEP_BIRTH_H

#include "model/op_stacks.h"

#define STEPS_LEAST 3

enum step_how { STEP_TOLD, STEP_BY_OPTIMIZER, STEP_BY_BACKWARD, STEP_BY_PATTERN };

struct step_birth {
    uint64_t time_ns, process;
    uint64_t thread;
    uint32_t stack, order;
    const struct op_stack *from; /* once that is known */
    uint64_t line; /* which calls an optimizer or the engine of gradients; 0: it is in neither */
};

#endif
