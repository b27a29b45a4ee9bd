/* native_stack - see native_stack.h. */
#include "collect/native_stack.h"

#include "collect/native_code.h"
#include "collect/native_name.h"

#include <string.h>

static struct native_code *code_of(struct absorb *a, struct absorb_process *p)
{
    if (!p->code)
        p->code = native_code_new(p->pid);
    if (p->code_unloaded != p->stacks.unloaded)
        native_code_forget(p->code);
    p->code_unloaded = p->stacks.unloaded;
    p->code->now_ns = a->now_ns;
    return p->code;
}

/* As the program would tell it itself; it has not yet, and may never. */
static void tell_module(struct absorb *a, struct absorb_process *p, uint64_t address)
{
    const struct native_range *range;
    const struct far_image *i = native_code_image(p->code, address, &range);
    struct stackmap_module m;
    char name[NATIVE_NAME_MOST];
    int bytes = i ? native_name(&p->code->far.memory, p->pid, i, name) : -1;
    const char *path = bytes > 0 ? name : bytes == 0 ? p->file : i ? range->path : NULL;

    if (!path)
        return;
    m = (struct stackmap_module){i->start, i->end - i->start, i->bias, 0};
    stackmap_module(&a->stackmap, &p->stacks, a->store, &m, path,
                    bytes > 0    ? (size_t)bytes
                    : bytes == 0 ? strlen(path)
                                 : range->path_bytes,
                    i->id, i->id_bytes);
}

void native_stack_read(struct absorb *a, struct absorb_process *p, const struct native_place *at,
                       struct native_stack *out)
{
    const struct native_code *c = p->pid ? code_of(a, p) : NULL;

    out->frames[0] = at->pc + at->exact;
    out->count = 1;
    out->whole = false;
    if (c)
        out->count = far_walk(&c->far, at->pc, at->sp, at->exact, out->frames, NATIVE_FRAMES_MOST,
                              &out->whole);
    for (size_t i = 0; c && i < out->count; i++) {
        uint64_t address = out->frames[i] & RING_FRAME_ADDRESS;

        out->frames[i] = address | (out->frames[i] & FAR_FRAME_GUESSED ? RING_FRAME_GUESSED : 0);
        if (!stackmap_is_known(&p->stacks, address - 1))
            tell_module(a, p, address - 1);
    }
}

bool native_stack_before(struct absorb_process *p, const struct native_stack *s, uint64_t address,
                         size_t *count)
{
    const struct native_range *range;
    const struct far_image *i;

    for (*count = 0; p->code && *count < s->count; ++*count) {
        i = native_code_image(p->code, (s->frames[*count] & RING_FRAME_ADDRESS) - 1, &range);
        if (i && address - i->start < i->end - i->start)
            return true;
    }
    return false;
}
