/* torch_taking - a memory snapshot of PyTorch on its way into a trace, one device after the other:
 * its history.
 */
#ifndef IMPORT_TORCH_TAKING_H
#define IMPORT_TORCH_TAKING_H

#include "import/intake.h"
#include "import/pickle_values.h"

struct torch_taking {
    const struct pickle *p;
    struct intake *in;
    struct intmap stacks;  /* by list of frames: 1 + the stack */
    struct intmap threads; /* of this device, by stream */
    struct intmap alive; /* of this device, by address: 1 allocated in its history, 0 freed in it */
    uint32_t process;
    uint64_t first_ns; /* of this device; UINT64_MAX: it has no history */
    uint64_t now_ns, order, before;
    uint64_t mapped, unmapped; /* of segments that grow and shrink, in this device's history, */
    struct intake_event grown; /* and what they are at its end */
    bool timed, untimed;       /* events have times; or not, which the first one decides */
    bool absurd;               /* sizes that no memory has */
};

/* From here on, what is told is of this device. */
void torch_begin_device(struct torch_taking *t, uint64_t device);
/* What a stream is in the trace. */
uint32_t torch_thread(struct torch_taking *t, uint64_t stream);
/* So many bytes there are. More than addresses have bits for is absurd: 0. */
uint64_t torch_bytes(struct torch_taking *t, pickle_value size);
/* The stack of a list of frames; 0: none. */
uint32_t torch_stack(struct torch_taking *t, pickle_value frames);
/* An event of its history; those that are about no memory are left alone. */
void torch_take_event(struct torch_taking *t, pickle_value event);

#endif
