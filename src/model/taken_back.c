/* taken_back - see taken_back.h. A batch with such frees is decoded, and written again without
 * them: who reads it knows nothing of this.
 */
#include "model/taken_back.h"

#include "base/memory.h"
#include "trace/batch.h"

#include <stdlib.h>
#include <string.h>

#define HELD_BYTES_MOST ((size_t)64 << 20)
#define PORTION 256
#define LOOKS 64 /* at events, for each that is read */
#define GONE 255 /* the op of a free that never was, and of what takes it back */

struct held_record {
    struct held_record *next, *before;
    struct trace_event ev;
    struct batch_event *events; /* NULL: not decoded */
    size_t count, gone, bytes;
    unsigned char tail[];
};

/* ---- finding them ---- */

static bool open_batch(struct batch_reader *r, const struct held_record *b)
{
    return batch_open(r, b->tail, b->ev.tail_bytes, b->ev.time_ns, b->ev.batch.span_ns) == 0;
}

/* Not what is malformed: that is for those to say who read it. */
static void decode(struct taken_back *t, struct held_record *b)
{
    struct batch_reader r;
    size_t room = 0, got;

    if (b->events || !open_batch(&r, b))
        return;
    do {
        memory_fit(b->events, room, b->count + PORTION);
        got = batch_take(&r, b->events + b->count, PORTION);
        b->count += got;
    } while (got == PORTION);
    if (r.malformed)
        b->count = 0;
    t->looks += LOOKS * b->count;
    b->bytes += room * sizeof(*b->events);
    t->bytes += room * sizeof(*b->events);
}

/* The last free of such a block, before an event of a batch or in one of those before it. */
static bool take_free(struct taken_back *t, struct held_record *b, size_t at, uint64_t info)
{
    uint64_t process = b->ev.batch.process;

    for (; b; b = b->before, at = SIZE_MAX) {
        if (b->ev.kind != TRACE_BATCH || b->ev.batch.process != process)
            continue;
        decode(t, b);
        for (size_t i = at < b->count ? at : b->count; i-- && t->looks; t->looks--) {
            if (b->events[i].op != BATCH_FREE || b->events[i].info != info)
                continue;
            b->events[i].op = GONE;
            b->gone++;
            return true;
        }
    }
    return false;
}

/* A symbol of 0 takes back, and no other has a byte of 0. */
static void look_through(struct taken_back *t, struct held_record *b)
{
    struct batch_reader r;

    if (!open_batch(&r, b) || !memchr(r.symbols, 0, (size_t)(r.symbols_end - r.symbols)))
        return;
    decode(t, b);
    for (size_t i = 0; i < b->count; i++)
        if (b->events[i].op == BATCH_UNFREE && take_free(t, b, i, b->events[i].info)) {
            b->events[i].op = GONE;
            b->gone++;
        }
}

/* ---- without them ---- */

static void put(struct batch *to, const struct batch_event *e)
{
    if (e->op == GONE)
        return;
    batch_at(to, (uint32_t)e->thread, e->time_ns);
    if (e->op == BATCH_ALLOC)
        batch_alloc(to, (uint32_t)e->info);
    else if (e->op == BATCH_UNFREE)
        batch_unfree(to, (uint32_t)e->info);
    else
        batch_free(to, (uint32_t)e->info, (unsigned char)(e->later_allocs | e->lived << 4));
}

/* What no collector writes may have larger numbers, or more events. */
static bool is_usual(const struct held_record *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->events[i].info > INT32_MAX || !b->events[i].thread ||
            b->events[i].thread > UINT32_MAX)
            return false;
    return true;
}

/* False: it cannot be written again, and stays as it is. */
static bool encode(struct taken_back *t, struct held_record *b)
{
    if (!t->batch) {
        t->batch = memory_zeroed(sizeof(*t->batch));
        t->encoded = memory_zeroed(BATCH_TAIL_MOST);
    }
    batch_reset(t->batch, b->ev.time_ns - b->ev.batch.span_ns);
    for (size_t i = 0; i < b->count; i++) {
        if (batch_full(t->batch))
            return false;
        put(t->batch, &b->events[i]);
    }
    b->ev.batch.events = t->batch->events;
    b->ev.tail_bytes = batch_close(t->batch, t->encoded);
    b->ev.tail = t->encoded;
    return true;
}

static void hand_on(struct taken_back *t, struct held_record *b)
{
    if (b->gone && is_usual(b))
        encode(t, b);
    if (b->gone < b->count || !b->gone)
        t->take(t->context, &b->ev);
}

/* ---- what is held ---- */

static void release(struct taken_back *t)
{
    struct held_record *b = t->first;

    t->first = b->next;
    if (t->first)
        t->first->before = NULL;
    else
        t->last = NULL;
    t->batches -= b->ev.kind == TRACE_BATCH;
    t->bytes -= b->bytes;
    hand_on(t, b);
    free(b->events);
    free(b);
}

static void hold(struct taken_back *t, const struct trace_event *ev)
{
    struct held_record *b = memory_resize(NULL, sizeof(*b) + ev->tail_bytes);

    *b = (struct held_record){.before = t->last, .ev = *ev, .bytes = sizeof(*b) + ev->tail_bytes};
    if (ev->tail_bytes)
        memcpy(b->tail, ev->tail, ev->tail_bytes);
    b->ev.tail = b->tail;
    if (t->last)
        t->last->next = b;
    else
        t->first = b;
    t->last = b;
    t->batches += ev->kind == TRACE_BATCH;
    t->bytes += b->bytes;
    if (ev->kind == TRACE_BATCH)
        look_through(t, b);
    while (t->first && (t->batches > TAKEN_BACK_HELD || t->bytes > HELD_BYTES_MOST))
        release(t);
}

void taken_back_record(struct taken_back *t, const struct trace_event *ev)
{
    if (ev->kind == TRACE_BATCH || t->first)
        hold(t, ev);
    else
        t->take(t->context, ev);
}

void taken_back_end(struct taken_back *t)
{
    while (t->first)
        release(t);
    free(t->batch);
    free(t->encoded);
    t->batch = NULL;
    t->encoded = NULL;
}
