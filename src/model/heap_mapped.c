/* heap_mapped - memory that programs map themselves, in the heap of their process: each mapping is
 * a block that stands for itself, of a kind of its own, and its parts may go one by one.
 */
#include "model/heap_pass.h"

#include "model/creators.h"
#include "model/mapping_read.h"

uint32_t heap_mapped_place(struct heap *h, uint32_t process, const struct mapping *p)
{
    const struct heap_sampled like = {
        .process = process,
        .stack = p->stack <= h->frames->stack_count ? (uint32_t)p->stack : 0,
        .size_class = heap_size_class(p->whole),
        .whole = true,
        .memory = p->kind == TRACE_MMAP_SHARED ? TRACE_MEMORY_SHARED : TRACE_MEMORY_MAPPED};

    return heap_entry_place(h, &like);
}

static void note_size(struct heap_sampled *e, const struct mapping_change *c)
{
    uint64_t bytes = c->mapping->whole;

    if (!e->sums.allocated.milliblocks) {
        e->first_ns = c->time_ns;
        e->least = e->most = bytes;
    }
    e->last_ns = c->time_ns;
    e->least = bytes < e->least ? bytes : e->least;
    e->most = bytes > e->most ? bytes : e->most;
}

/* What began to count, or ended, of one process and one of its threads. */
static void add_up(struct heap *h, struct heap_process *p, struct heap_sampled *e,
                   const struct mapping_change *c, bool in)
{
    const struct heap_amount amount = {c->bytes, c->milliblocks, 0, 0};
    const struct threads_thread *t = threads_find(h->threads, c->mapping->thread);
    struct heap_sums *of = t && in ? heap_sums_of_thread(h, t) : NULL;

    heap_entry_touch(p->state, e);
    if (c->ended) {
        heap_subtract(&e->sums.live, &amount);
        heap_subtract(&p->state->live, &amount);
    } else {
        heap_add(&e->sums.live, &amount);
        heap_add(&p->state->live, &amount);
    }
    if (in && !c->ended)
        note_size(e, c);
    if (in)
        heap_add(c->ended ? &e->sums.freed : &e->sums.allocated, &amount);
    if (of)
        heap_add(c->ended ? &of->freed : &of->allocated, &amount);
}

static void note_creator(const struct heap *h, const struct mapping *p)
{
    const struct threads_thread *t = threads_find(h->threads, p->thread);

    if (h->pass->creators && t && p->stack && p->stack <= h->frames->stack_count &&
        (t->creator || !h->frames->stacks[p->stack].python))
        creators_note(h->pass->creators, (uint32_t)p->stack, t->creator);
}

static void change(void *context, const struct mapping_change *c)
{
    struct heap *h = context;
    struct heap_process *p = heap_make_process(h, c->mapping->process);
    uint32_t place;
    bool in;

    if (!p) {
        h->left_out++;
        return;
    }
    if (!heap_move_to(h, p, c->time_ns, &in))
        return;
    p->state->events++;
    if (heap_born(h, c->mapping->context, p->number) != BORN_THERE)
        return;
    place = heap_mapped_place(h, heap_place_of(h, p), c->mapping);
    if (place == UINT32_MAX) {
        h->left_out++;
        return;
    }
    add_up(h, p, &h->pass->sampled[place], c, in);
    h->mapped = true;
    h->reserved = h->reserved || c->mapping->kind == TRACE_MMAP_RESERVED;
    if (c->ended)
        return;
    if (in)
        heap_twin_rose(p->state);
    heap_rose(p, c->time_ns, in);
    note_creator(h, c->mapping);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What counts for nothing is told at least. */
static void note_most(struct heap *h)
{
    const struct mappings *m = &h->pass->mappings;

    h->files_most = larger(h->files_most, m->bytes[TRACE_MMAP_FILE]);
    h->reserved_most = larger(h->reserved_most, m->bytes[TRACE_MMAP_RESERVED] + m->closed_bytes);
}

void heap_take_mapping(struct heap *h, const struct trace_event *ev)
{
    if (ev->time_ns > h->pass->to_ns && ev->kind != TRACE_PROCESS_END)
        return;
    h->pass->mappings.change = change;
    h->pass->mappings.context = h;
    mapping_read(&h->pass->mappings, h->threads, ev);
    if (ev->time_ns >= h->pass->from_ns)
        note_most(h);
    if (ev->kind == TRACE_MMAP && ev->mmap.mmap_kind != TRACE_MMAP_ARENA &&
        ev->mmap.mmap_kind != TRACE_MMAP_PROTECTED && ev->time_ns >= h->pass->from_ns &&
        ev->time_ns <= h->pass->to_ns)
        h->maps++;
}
