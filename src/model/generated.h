/* generated - code that a framework has generated while the program ran, as far as the trace has
 * its text: which kernel a buffer is made for. Inductor (torch.compile) writes it in Python:
 *
 *     buf6 = empty_strided_cpu((256, 512), (512, 1), torch.float32)
 *     extern_kernels.addmm(primals_6, ..., out=buf6)
 */
#ifndef MODEL_GENERATED_H
#define MODEL_GENERATED_H

#include "model/names.h"

struct generated {       /* zeroed: empty */
    struct intmap lines; /* hash of a path and a line -> its text */
};

/* Take a SOURCE of such a file; others are left alone. */
void generated_take(struct generated *g, struct names *names, const struct trace_event *ev);

/* What is called next with the buffer that this line makes, or with another name for it: "addmm",
 * or what a kernel was fused from, "fused_gelu_view". The text is in the trace's own, *length long;
 * NULL: that is not known.
 */
const char *generated_kernel(const struct generated *g, const char *file, uint64_t line,
                             size_t *length);

void generated_free(struct generated *g);

#endif
