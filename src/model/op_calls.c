/* op_calls - see op_calls.h. */
#include "model/op_calls.h"

#include "base/hash.h"
#include "base/memory.h"
#include "model/heap_pass.h"

#include <stdlib.h>

#define DEPTH_MOST 1024
#define ROWS_MOST 65536
#define THREADS_MOST 65536

struct frame { /* an operator that is open */
    uint32_t row;
    bool counts;  /* it began in the stretch that is asked about, */
    bool outmost; /* and is in no other of its name */
    uint64_t since_ns, allocated, freed;
    int64_t entry, most; /* what its thread had when it began, and the most since */
};

struct op_calls_thread {
    uint64_t allocated, freed;
    int64_t net;
    struct frame *open;
    size_t depth, room;
    uint64_t beyond; /* open, but too deep */
};

void op_calls_start(struct op_calls *c, struct heap *h, uint64_t from_ns, uint64_t to_ns)
{
    *c = (struct op_calls){.heap = h, .from_ns = from_ns, .to_ns = to_ns};
}

static struct op_calls_thread *thread_of(struct op_calls *c, uint64_t thread, bool make)
{
    uint64_t at;

    if (intmap_get(&c->of_thread, thread, &at))
        return &c->threads[at - 1];
    if (!make || c->thread_count == THREADS_MOST)
        return NULL;
    memory_fit(c->threads, c->thread_room, c->thread_count + 1);
    c->threads[c->thread_count++] = (struct op_calls_thread){0};
    intmap_put(&c->of_thread, thread, c->thread_count);
    return &c->threads[c->thread_count - 1];
}

/* 1 + its place; 0: there are too many. */
static uint32_t row_of(struct op_calls *c, uint64_t name)
{
    uint64_t at;

    if (intmap_get(&c->places, name, &at))
        return (uint32_t)at;
    if (c->count == ROWS_MOST)
        return 0;
    memory_fit(c->rows, c->room, c->count + 1);
    c->rows[c->count++] = (struct op_calls_row){.name = name};
    intmap_put(&c->places, name, c->count);
    return (uint32_t)c->count;
}

/* ---- operators ---- */

static bool is_within(const struct op_calls_thread *t, uint32_t row)
{
    for (size_t i = 0; i < t->depth; i++)
        if (t->open[i].row == row && t->open[i].counts)
            return true;
    return false;
}

static void begin(struct op_calls *c, const struct trace_event *ev)
{
    struct op_calls_thread *t = thread_of(c, ev->op.thread, true);
    uint32_t row = row_of(c, ev->op.name);
    bool counts = ev->time_ns >= c->from_ns && (!c->to_ns || ev->time_ns <= c->to_ns);

    c->told++;
    if (!t || !row || t->depth == DEPTH_MOST) {
        c->left_out++;
        if (t)
            t->beyond++;
        return;
    }
    memory_fit(t->open, t->room, t->depth + 1);
    t->open[t->depth] = (struct frame){.row = row - 1,
                                       .counts = counts,
                                       .outmost = counts && !is_within(t, row - 1),
                                       .since_ns = ev->time_ns,
                                       .allocated = t->allocated,
                                       .freed = t->freed,
                                       .entry = t->net,
                                       .most = t->net};
    t->depth++;
    c->rows[row - 1].calls += counts;
}

static void add(struct op_calls_row *r, const struct op_calls_thread *t, const struct frame *f,
                uint64_t now_ns)
{
    uint64_t above = (uint64_t)f->most - (uint64_t)f->entry;

    if (f->counts && above > r->above)
        r->above = above;
    if (!f->outmost)
        return;
    r->time_ns += now_ns > f->since_ns ? now_ns - f->since_ns : 0;
    r->allocated += t->allocated - f->allocated;
    r->freed += t->freed - f->freed;
}

static void end_one(struct op_calls *c, struct op_calls_thread *t, uint64_t now_ns)
{
    struct frame *f = &t->open[--t->depth];
    struct frame *outer = t->depth ? f - 1 : NULL;

    add(&c->rows[f->row], t, f, now_ns);
    if (outer && f->most > outer->most)
        outer->most = f->most;
}

static void end(struct op_calls *c, const struct trace_event *ev)
{
    struct op_calls_thread *t = thread_of(c, ev->op_end.thread, false);

    if (t && t->beyond)
        t->beyond--;
    else if (t && t->depth)
        end_one(c, t, ev->time_ns);
}

/* ---- memory ---- */

/* 0: of no process that is known. */
static uint64_t key_of(const struct op_calls *c, uint64_t thread, uint64_t address)
{
    const struct heap_process *p = heap_process_of_thread(c->heap, thread);

    return p ? hash_mix(hash_mix(5, p->number), address) : 0;
}

static void change(struct op_calls *c, uint64_t thread, uint64_t born, uint64_t died)
{
    struct op_calls_thread *t = thread_of(c, thread, false);
    struct frame *f = t && t->depth ? &t->open[t->depth - 1] : NULL;

    if (!t)
        return;
    t->allocated += born;
    t->freed += died;
    t->net = (int64_t)((uint64_t)t->net + born - died);
    if (!f)
        return;
    f->most = t->net > f->most ? t->net : f->most;
    c->rows[f->row].own += f->counts ? born : 0;
}

static void take_alloc(struct op_calls *c, const struct trace_alloc *a)
{
    uint64_t key = key_of(c, a->thread, a->address);

    if (!key || a->weight)
        return;
    intmap_put(&c->blocks, key, a->bytes);
    change(c, a->thread, a->bytes, 0);
}

static void take_free(struct op_calls *c, const struct trace_free *f)
{
    uint64_t key = key_of(c, f->thread, f->address), bytes;

    if (!key || !intmap_get(&c->blocks, key, &bytes) || !bytes)
        return;
    intmap_put(&c->blocks, key, 0);
    change(c, f->thread, 0, bytes);
}

void op_calls_take(void *calls, const struct trace_event *ev)
{
    struct op_calls *c = calls;

    switch (ev->kind) {
    case TRACE_OP:
        begin(c, ev);
        break;
    case TRACE_OP_END:
        end(c, ev);
        break;
    case TRACE_ALLOC:
        take_alloc(c, &ev->alloc);
        break;
    case TRACE_FREE:
        take_free(c, &ev->free);
        break;
    default:
        break;
    }
}

void op_calls_end(struct op_calls *c)
{
    for (size_t i = 0; i < c->thread_count; i++)
        while (c->threads[i].depth) {
            end_one(c, &c->threads[i], 0);
            c->unended++;
        }
}

void op_calls_free(struct op_calls *c)
{
    for (size_t i = 0; i < c->thread_count; i++)
        free(c->threads[i].open);
    free(c->threads);
    free(c->rows);
    intmap_free(&c->places);
    intmap_free(&c->of_thread);
    intmap_free(&c->blocks);
    *c = (struct op_calls){0};
}
