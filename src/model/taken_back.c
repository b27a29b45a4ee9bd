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
#define FOUND_MOST ((size_t)1 << 18)
#define GONE 255 /* the op of a free that never was, and of what takes it back */

struct held_run {
    uint64_t time_ns, thread;
    size_t end; /* the place of the item after its last */
};

struct held_record {
    struct held_record *next, *before;
    struct trace_event ev;
    struct batch_item *items; /* NULL: not decoded */
    struct held_run *runs;
    size_t count, run_count, gone, bytes;
    uint64_t place;
    unsigned char tail[];
};

/* ---- finding them ---- */

static bool open_batch(struct batch_reader *r, const struct held_record *b)
{
    return batch_open(r, b->ev.tail, b->ev.tail_bytes, b->ev.time_ns, b->ev.batch.span_ns) == 0;
}

/* Not what is malformed: that is for those to say who read it. */
static void decode(struct taken_back *t, struct held_record *b)
{
    struct batch_reader r;
    size_t room = 0, run_room = 0, got;

    if (b->items || !open_batch(&r, b))
        return;
    do {
        memory_fit(b->items, room, b->count + PORTION);
        memory_fit(b->runs, run_room, b->run_count + 1);
        got = batch_take(&r, b->items + b->count, PORTION);
        b->count += got;
        b->runs[b->run_count++] = (struct held_run){r.time_ns, r.thread, b->count};
    } while (got);
    if (r.malformed)
        b->count = b->run_count = 0;
    t->looks += LOOKS * b->count;
    room = room * sizeof(*b->items) + run_room * sizeof(*b->runs);
    b->bytes += room;
    t->bytes += room;
}

/* The last free of such a block before an item; its place, or SIZE_MAX. */
static size_t find_free(struct taken_back *t, const struct held_record *b, size_t at, uint32_t info)
{
    size_t least = at > t->looks ? at - (size_t)t->looks : 0, i = at;

    while (i > least && (b->items[i - 1].info != info || b->items[i - 1].op != BATCH_FREE))
        i--;
    t->looks -= at - i;
    return i > least ? i - 1 : SIZE_MAX;
}

/* The last free of such a block, before an event of a batch or in one of those before it. */
static bool take_free(struct taken_back *t, struct held_record *b, size_t at, uint32_t info)
{
    uint64_t process = b->ev.batch.process;

    for (; b; b = b->before, at = SIZE_MAX) {
        if (b->ev.kind != TRACE_BATCH || b->ev.batch.process != process)
            continue;
        decode(t, b);
        at = find_free(t, b, at < b->count ? at : b->count, info);
        if (at == SIZE_MAX)
            continue;
        b->items[at].op = GONE;
        b->gone++;
        return true;
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
        if (b->items[i].op == BATCH_UNFREE && take_free(t, b, i, b->items[i].info)) {
            b->items[i].op = GONE;
            b->gone++;
        }
}

/* ---- without them ---- */

static void put(struct batch *to, const struct held_run *run, const struct batch_item *e)
{
    if (e->op == GONE)
        return;
    batch_at(to, (uint32_t)run->thread, run->time_ns);
    if (e->op == BATCH_ALLOC)
        batch_alloc(to, e->info);
    else if (e->op == BATCH_UNFREE)
        batch_unfree(to, e->info);
    else
        batch_free(to, e->info, e->fate);
}

/* What no collector writes may have larger numbers, or more events. */
static bool is_usual(const struct held_record *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->items[i].info > INT32_MAX)
            return false;
    for (size_t i = 0; i + 1 < b->run_count; i++)
        if (!b->runs[i].thread || b->runs[i].thread > UINT32_MAX)
            return false;
    return true;
}

/* False: it cannot be written again, and stays as it is. */
static bool encode(struct taken_back *t, struct held_record *b)
{
    const struct held_run *run = b->runs;

    if (!t->batch) {
        t->batch = memory_zeroed(sizeof(*t->batch));
        t->encoded = memory_zeroed(BATCH_TAIL_MOST);
    }
    batch_reset(t->batch, b->ev.time_ns - b->ev.batch.span_ns);
    for (size_t i = 0; i < b->count; i++) {
        if (batch_full(t->batch))
            return false;
        run += i == run->end;
        put(t->batch, run, &b->items[i]);
    }
    b->ev.batch.events = t->batch->events;
    b->ev.tail_bytes = batch_close(t->batch, t->encoded);
    b->ev.tail = t->encoded;
    return true;
}

/* For who reads it again. Of too many nothing is said. */
static void note(struct taken_back_found *f, const struct held_record *b)
{
    f->more = f->more || f->count + b->gone > FOUND_MOST;
    for (size_t i = 0; i < b->count && !f->more; i++)
        if (b->items[i].op == GONE) {
            memory_fit(f->list, f->room, f->count + 1);
            f->list[f->count++] = (struct taken_back_event){b->place, (uint32_t)i};
        }
}

static void hand_on(struct taken_back *t, struct held_record *b)
{
    if (b->gone && t->notes)
        note(t->notes, b);
    if (b->gone && is_usual(b))
        encode(t, b);
    if (b->gone < b->count || !b->gone)
        t->take(t->context, &b->ev);
}

/* ---- what is known already ---- */

static void hand_on_without(struct taken_back *t, const struct trace_event *ev, uint64_t place)
{
    const struct taken_back_found *f = t->known;
    struct held_record b = {.ev = *ev};

    decode(t, &b);
    for (; t->next < f->count && f->list[t->next].place == place; t->next++)
        if (f->list[t->next].at < b.count) {
            b.items[f->list[t->next].at].op = GONE;
            b.gone++;
        }
    hand_on(t, &b);
    free(b.items);
    free(b.runs);
}

static void take_known(struct taken_back *t, const struct trace_event *ev, uint64_t place)
{
    const struct taken_back_found *f = t->known;

    while (t->next < f->count && f->list[t->next].place < place)
        t->next++;
    if (t->next < f->count && f->list[t->next].place == place)
        hand_on_without(t, ev, place);
    else
        t->take(t->context, ev);
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
    free(b->items);
    free(b->runs);
    free(b);
}

static void hold(struct taken_back *t, const struct trace_event *ev, uint64_t place)
{
    struct held_record *b = memory_resize(NULL, sizeof(*b) + ev->tail_bytes);

    *b = (struct held_record){
        .before = t->last, .ev = *ev, .bytes = sizeof(*b) + ev->tail_bytes, .place = place};
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

void taken_back_record(struct taken_back *t, const struct trace_event *ev, uint64_t place)
{
    if (t->known && ev->kind == TRACE_BATCH)
        take_known(t, ev, place);
    else if ((ev->kind == TRACE_BATCH && !t->known) || t->first)
        hold(t, ev, place);
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

void taken_back_forget(struct taken_back_found *f)
{
    free(f->list);
    *f = (struct taken_back_found){0};
}
