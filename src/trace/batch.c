/* batch - see batch.h and format.h. */
#include "trace/batch.h"

#include <string.h>

static unsigned char *put_varint(unsigned char *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (unsigned char)(v | 0x80);
    *p++ = (unsigned char)v;
    return p;
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

void batch_reset(struct batch *b, uint64_t start_ns)
{
    b->runs_used = b->symbols_used = b->fates_used = 0;
    b->events = b->run_count = b->thread = b->run_events = 0;
    b->start_ns = b->run_ns = b->last_ns = start_ns;
}

/* A run's events are known when it ends: thread and time were written when it began. */
static void end_run(struct batch *b)
{
    if (!b->thread)
        return;
    b->runs_used = (size_t)(put_varint(b->runs + b->runs_used, b->run_events) - b->runs);
    b->run_events = 0;
}

void batch_at(struct batch *b, uint32_t thread, uint64_t time_ns)
{
    unsigned char *p;

    if (thread == b->thread && time_ns == b->run_ns)
        return;
    end_run(b);
    p = put_varint(b->runs + b->runs_used, thread);
    p = put_varint(p, zigzag(time_ns - b->run_ns));
    b->runs_used = (size_t)(p - b->runs);
    b->thread = thread;
    b->run_ns = time_ns;
    b->run_count++;
    if (time_ns > b->last_ns)
        b->last_ns = time_ns;
}

void batch_unfree(struct batch *b, uint32_t info)
{
    batch_symbol(b, 0);
    batch_free(b, info, 0);
}

static unsigned char *put_column(unsigned char *p, const unsigned char *column, size_t size)
{
    p = put_varint(p, size);
    memcpy(p, column, size);
    return p + size;
}

size_t batch_close(struct batch *b, unsigned char *tail)
{
    unsigned char *p;

    end_run(b);
    b->thread = 0;
    p = put_column(tail, b->runs, b->runs_used);
    p = put_column(p, b->symbols, b->symbols_used);
    p = put_column(p, b->fates, b->fates_used);
    return (size_t)(p - tail);
}

/* False where the bytes end early or hold more than 64 bits; then *at is as it was. */
static bool take_varint(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    const unsigned char *p = *at;
    uint64_t v = 0;

    for (unsigned int shift = 0; p < end && shift < 64; shift += 7) {
        if (shift == 63 && (*p & 0x7f) > 1)
            return false;
        v |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p++ & 0x80)) {
            *at = p;
            *value = v;
            return true;
        }
    }
    return false;
}

static bool take_column(const unsigned char **at, const unsigned char *end,
                        const unsigned char **column, const unsigned char **column_end)
{
    uint64_t size;

    if (!take_varint(at, end, &size) || size > (size_t)(end - *at))
        return false;
    *column = *at;
    *column_end = *at += size;
    return true;
}

int batch_open(struct batch_reader *r, const unsigned char *tail, size_t size, uint64_t end_ns,
               uint64_t span_ns)
{
    const unsigned char *end = tail + size;

    *r = (struct batch_reader){.time_ns = end_ns - span_ns};
    if (!take_column(&tail, end, &r->runs, &r->runs_end) ||
        !take_column(&tail, end, &r->symbols, &r->symbols_end) ||
        !take_column(&tail, end, &r->fates, &r->fates_end))
        return -1;
    return 0;
}

static int next_run(struct batch_reader *r)
{
    uint64_t step;

    if (r->runs == r->runs_end)
        return r->symbols == r->symbols_end && r->fates == r->fates_end ? 0 : -1;
    if (!take_varint(&r->runs, r->runs_end, &r->thread) ||
        !take_varint(&r->runs, r->runs_end, &step) || !take_varint(&r->runs, r->runs_end, &r->left))
        return -1;
    r->time_ns += step >> 1 ^ (0 - (step & 1));
    return 1;
}

static int next_event(struct batch_reader *r, struct batch_event *ev)
{
    uint64_t symbol;
    bool undo;

    while (!r->left) {
        int got = next_run(r);

        if (got <= 0)
            return got;
    }
    r->left--;
    if (!take_varint(&r->symbols, r->symbols_end, &symbol))
        return -1;
    undo = symbol == 0;
    if (undo && (!take_varint(&r->symbols, r->symbols_end, &symbol) || !(symbol & 1)))
        return -1;
    ev->time_ns = r->time_ns;
    ev->thread = r->thread;
    ev->info = symbol >> 1;
    ev->op = undo ? BATCH_UNFREE : symbol & 1 ? BATCH_FREE : BATCH_ALLOC;
    ev->later_allocs = ev->lived = 0;
    if (!(symbol & 1))
        return 1;
    if (r->fates == r->fates_end)
        return -1;
    ev->later_allocs = *r->fates & 15;
    ev->lived = *r->fates++ >> 4;
    return 1;
}

int batch_next(struct batch_reader *r, struct batch_event *ev)
{
    int got = r->malformed ? -1 : next_event(r, ev);

    r->malformed = got < 0;
    return got;
}

bool batch_next_stack(const unsigned char **tail, size_t *size, uint64_t *next,
                      struct trace_stack *stack)
{
    const unsigned char *p = *tail, *end = p + *size;
    uint64_t back;

    if (!take_varint(&p, end, &back) || !take_varint(&p, end, &stack->frame) || back >= *next)
        return false;
    *tail = p;
    *size = (size_t)(end - p);
    stack->stack = (*next)++;
    stack->parent = stack->stack - 1 - back;
    return true;
}

bool batch_next_info(const unsigned char **tail, size_t *size, struct batch_info *info)
{
    const unsigned char *p = *tail, *end = p + *size;
    uint64_t bytes, step, origin;

    if (!take_varint(&p, end, &bytes) || !take_varint(&p, end, &step) ||
        !take_varint(&p, end, &origin))
        return false;
    *tail = p;
    *size = (size_t)(end - p);
    info->bytes = bytes;
    info->origin = origin;
    info->info++;
    info->stack += step >> 1 ^ (0 - (step & 1));
    return true;
}

size_t batch_put_info(unsigned char *p, uint64_t bytes, uint64_t stack, uint64_t origin,
                      uint64_t stack_before)
{
    unsigned char *q = put_varint(p, bytes);

    q = put_varint(q, zigzag(stack - stack_before));
    return (size_t)(put_varint(q, origin) - p);
}

size_t batch_put_stack(unsigned char *p, uint64_t stack, uint64_t parent, uint64_t frame)
{
    return (size_t)(put_varint(put_varint(p, stack - 1 - parent), frame) - p);
}
