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

int batch_next(struct batch_reader *r, struct batch_event *ev)
{
    int got = r->malformed ? -1 : next_event(r, ev);

    r->malformed = got < 0;
    return got;
}

static inline uint32_t load(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* A number of up to four bytes, which are there; how many it took, 0: it is longer. Those of three
 * come first: nearly all events of a long recording are.
 */
static inline unsigned int take_near(const unsigned char *p, uint32_t *value)
{
    uint32_t w = load(p);
    uint32_t one = w & 0x7f, two = one | (w >> 1 & 0x3f80), three = two | (w >> 2 & 0x1fc000);

    *value = three;
    if ((w & 0x808080) == 0x8080)
        return 3;
    *value = two;
    if ((w & 0x8080) == 0x80)
        return 2;
    *value = one;
    if (!(w & 0x80))
        return 1;
    *value = three | (w >> 3 & 0xfe00000);
    return w & 0x80000000 ? 0 : 4;
}

static inline void put_item(struct batch_item *item, uint32_t symbol, const unsigned char *fate)
{
    unsigned int freed = symbol & 1;

    item->info = symbol >> 1;
    item->op = (unsigned char)freed;
    item->fate = (unsigned char)(*fate & (0 - freed));
}

/* Two numbers of three bytes each, where eight are there; false: they are not such. */
static inline bool take_two(const unsigned char *p, uint32_t value[2])
{
    uint64_t w = load(p) | (uint64_t)load(p + 4) << 32;

    if ((w & 0x808080808080) != 0x008080008080)
        return false;
    w = (w & 0x7f00007f) | (w >> 1 & 0x3f80003f80) | (w >> 2 & 0x1fc0001fc000);
    value[0] = (uint32_t)w & 0xffffff;
    value[1] = (uint32_t)(w >> 24);
    return value[0] && value[1];
}

/* Events of the run that is open, in the loop that reading a trace spends most of its time in. How
 * many there were until one that is out of the ordinary. Of an allocation, which has no fate, one
 * is looked at as well.
 */
static size_t take_plain(struct batch_reader *r, struct batch_item *items, size_t most)
{
    static const unsigned char nothing;
    const unsigned char *p = r->symbols, *fate = r->fates;
    size_t fates = (size_t)(r->fates_end - fate), near = (size_t)(r->symbols_end - p) / 4, n = 0;

    most = near < most ? near : most;
    most = fates && fates < most ? fates : most;
    if (!fates)
        fate = &nothing;
    while (n < most) {
        uint32_t symbol[2];
        unsigned int bytes;

        if (fates && most - n >= 2 && take_two(p, symbol)) {
            put_item(&items[n++], symbol[0], fate);
            fate += symbol[0] & 1;
            bytes = 6;
            symbol[0] = symbol[1];
        } else {
            bytes = take_near(p, symbol);
        }
        if (!bytes || !symbol[0] || (!fates && symbol[0] & 1))
            break;
        put_item(&items[n++], symbol[0], fate);
        fate += symbol[0] & 1;
        p += bytes;
    }
    r->left -= n;
    r->symbols = p;
    r->fates = fates ? fate : r->fates;
    return n;
}

static bool take_one(struct batch_reader *r, struct batch_item *item)
{
    struct batch_event ev;

    if (batch_next(r, &ev) <= 0)
        return false;
    item->info = ev.info < BATCH_INFO_BEYOND ? (uint32_t)ev.info : BATCH_INFO_BEYOND;
    item->op = (unsigned char)ev.op;
    item->fate = (unsigned char)(ev.later_allocs | ev.lived << 4);
    return true;
}

size_t batch_take(struct batch_reader *r, struct batch_item *items, size_t most)
{
    size_t n = 0;

    if (!r->left) /* the first of the next run opens it */
        n = take_one(r, items);
    if (r->malformed || (!n && !r->left))
        return 0;
    most = r->left < most - n ? n + (size_t)r->left : most;
    while (n < most) {
        size_t plain = take_plain(r, items + n, most - n);

        n += plain;
        if (!plain && !take_one(r, &items[n]))
            break;
        n += !plain;
    }
    return n;
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
