/* op_records - see op_records.h. */
#include "collect/op_records.h"

#include "collect/put.h"

bool ops_take_name(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    uint64_t bytes = w[1] >> 32;

    if (a->store)
        intmap_put(&r->process->op_names, first >> 16,
                   absorb_string(a, r->process, (const char *)(w + 2), bytes));
    return true;
}

bool ops_take(struct absorb *a, struct absorb_ring *r, uint64_t first)
{
    struct trace_op op = {r->thread, 0};
    struct trace_op_end end = {r->thread};
    unsigned int what = (unsigned int)(first >> 5) & 0x7ff;

    if (what >= RING_OP_LAST)
        return false;
    if (!a->store)
        return true;
    intmap_get(&r->process->op_names, first >> 16, &op.name);
    if (what == RING_OP_BEGIN)
        put_record(a, TRACE_OP, r->tick, &op, 2);
    else
        put_record(a, TRACE_OP_END, r->tick, &end, 1);
    return true;
}
