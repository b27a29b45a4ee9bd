/* absorb_state - see absorb_state.h. */
#include "collect/absorb_state.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

void absorb_flush(struct absorb *a, struct absorb_process *p)
{
    static unsigned char *tail; /* not before it is needed: data may be limited */
    struct batch *b = p->batch;
    struct trace_batch fields;
    size_t size;

    if (!b || !b->events)
        return;
    if (!tail)
        tail = memory_resize(NULL, BATCH_TAIL_MOST);
    stackmap_flush(&a->stackmap, a->store);
    infos_flush(&p->infos, p->number, a->store);
    size = batch_close(b, tail);
    fields = (struct trace_batch){p->number, b->events, b->last_ns - b->start_ns};
    if (a->store)
        trace_store_put(a->store, TRACE_BATCH, b->last_ns, (const uint64_t *)&fields, 3, tail,
                        size);
    batch_reset(b, b->last_ns);
}

uint64_t absorb_string(struct absorb *a, struct absorb_process *p, const char *text, size_t bytes)
{
    uint64_t before = trace_store_texts(a->store);
    uint64_t number = trace_store_string(a->store, text, bytes);

    p->text_bytes += trace_store_texts(a->store) - before;
    return number;
}

const char *absorb_name(const char *text, size_t bytes)
{
    size_t file = strlen(text);

    if (file < bytes && text[file + 1])
        return text + file + 1;
    return text_base(text);
}

uint64_t absorb_time(const struct absorb *a, const struct absorb_ring *r, uint64_t told)
{
    return told > r->tick && (!a->now_ns || told <= a->now_ns + CLOCK_SECOND_NS) ? told : r->tick;
}
