/* batch - see batch.h and format.h. */
#include "trace/batch.h"

#include <string.h>

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
    b->runs_used = (size_t)(varint_put(b->runs + b->runs_used, b->run_events) - b->runs);
    b->run_events = 0;
}

void batch_at(struct batch *b, uint32_t thread, uint64_t time_ns)
{
    unsigned char *p;

    if (thread == b->thread && time_ns == b->run_ns)
        return;
    end_run(b);
    p = varint_put(b->runs + b->runs_used, thread);
    p = varint_put(p, varint_zigzag(time_ns - b->run_ns));
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
    p = varint_put(p, size);
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

static bool take_column(const unsigned char **at, const unsigned char *end,
                        const unsigned char **column, const unsigned char **column_end)
{
    uint64_t size;

    if (!varint_take(at, end, &size) || size > (size_t)(end - *at))
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
    if (!varint_take(&r->runs, r->runs_end, &r->thread) ||
        !varint_take(&r->runs, r->runs_end, &step) || !varint_take(&r->runs, r->runs_end, &r->left))
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
    if (!varint_take(&r->symbols, r->symbols_end, &symbol))
        return -1;
    undo = symbol == 0;
    if (undo && (!varint_take(&r->symbols, r->symbols_end, &symbol) || !(symbol & 1)))
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

/* A number of up to four bytes, of which so many are there; how many it took, 0: it is longer. */
static inline unsigned int take_near(const unsigned char *p, uint32_t *value)
{
    uint32_t v = p[0] & 0x7f;
    unsigned int n = 1;

    while (p[n - 1] & 0x80) {
        if (n == 4)
            return 0;
        v |= (uint32_t)(p[n] & 0x7f) << 7 * n;
        n++;
    }
    *value = v;
    return n;
}

/* Events of the run that is open, in the loop that reading a trace spends most of its time in. How
 * many there were until one that is out of the ordinary.
 */
static size_t take_plain(struct batch_reader *r, struct batch_event *ev, size_t most)
{
    const unsigned char *p = r->symbols, *fate = r->fates;
    size_t n = 0;

    most = r->left < most ? (size_t)r->left : most;
    for (; n < most && r->symbols_end - p >= 4; n++, ev++) {
        uint32_t symbol;
        unsigned int bytes = take_near(p, &symbol);

        if (!bytes || !symbol || (symbol & 1 && fate == r->fates_end))
            break;
        p += bytes;
        *ev = (struct batch_event){.time_ns = r->time_ns, .thread = r->thread, .info = symbol >> 1};
        if (!(symbol & 1))
            continue;
        ev->op = BATCH_FREE;
        ev->later_allocs = *fate & 15;
        ev->lived = *fate++ >> 4;
    }
    r->left -= n;
    r->symbols = p;
    r->fates = fate;
    return n;
}

size_t batch_take(struct batch_reader *r, struct batch_event *events, size_t most)
{
    size_t n = 0;

    while (n < most) {
        n += take_plain(r, events + n, most - n);
        if (n < most && batch_next(r, &events[n]) <= 0)
            break;
        n += n < most;
    }
    return n;
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

    if (!varint_take(&p, end, &back) || !varint_take(&p, end, &stack->frame) || back >= *next)
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

    if (!varint_take(&p, end, &bytes) || !varint_take(&p, end, &step) ||
        !varint_take(&p, end, &origin))
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
    unsigned char *q = varint_put(p, bytes);

    q = varint_put(q, varint_zigzag(stack - stack_before));
    return (size_t)(varint_put(q, origin) - p);
}

size_t batch_put_stack(unsigned char *p, uint64_t stack, uint64_t parent, uint64_t frame)
{
    return (size_t)(varint_put(varint_put(p, stack - 1 - parent), frame) - p);
}
