/* access_answer - see access_answer.h. */
#include "questions/access_answer.h"

#include <inttypes.h>
#include <string.h>

#define WHY "tidemark: --accesses: " /* how a mark begins that says why (inject/torch_start.py) */

static void note_access(void *context, const struct trace_event *ev)
{
    struct access_state *s = context;

    s->told |= ev->kind == TRACE_ACCESS;
    if (ev->kind == TRACE_MARK && ev->mark.mark_kind == TRACE_MARK_MOMENT) {
        const char *name = names_get(s->names, ev->mark.name);

        if (name && strncmp(name, WHY, strlen(WHY)) == 0)
            s->why = name + strlen(WHY);
    }
}

void access_begin(struct asked *q, struct access_state *s)
{
    s->names = &q->recorded->names;
    recorded_take_first(q->recorded, note_access, s);
}

void access_want(struct asked *q, struct access_state *s, struct tensors *t)
{
    if (!s->told || !q->recorded->heap.any)
        return;
    uses_want(&s->uses, t);
    recorded_take_again(q->recorded, uses_take, &s->uses, UINT64_MAX);
}

bool access_judges(const struct access_state *s)
{
    return s->told && s->uses.missed < s->uses.told;
}

const struct uses *access_uses(const struct access_state *s)
{
    return s->told && (access_judges(s) || !s->uses.told) ? &s->uses : NULL;
}

const char *access_note(const struct asked *q, const struct access_state *s)
{
    if (!s->told && s->why)
        return arena_printf(q->answer->arena,
                            "No access was recorded, though --accesses asked for it: %s.", s->why);
    if (!s->told)
        return "The trace has no accesses: it only shows what stacks prove. 'tidemark record "
               "--accesses' records those of PyTorch and OpenCL; any program can report its own "
               "with tidemark_access() of include/tidemark.h.";
    if (s->uses.told && !access_judges(s))
        return "No access was to a block whose address is known: record with --exact=4K, as "
               "--exact alone keeps no addresses, and a sample stands for several blocks.";
    if (s->uses.left_out)
        return arena_printf(q->answer->arena,
                            "%" PRIu64 " accesses are left out: there are too many.",
                            s->uses.left_out);
    if (s->why)
        return arena_printf(q->answer->arena, "Accesses were %s.", s->why);
    return NULL;
}
