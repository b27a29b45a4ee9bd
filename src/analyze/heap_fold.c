/* heap_fold - from infos and sampled entries to stacks, classes of sizes and processes. */
#include "analyze/heap_pass.h"

#include "base/memory.h"

#include <string.h>

uint64_t heap_info_peak(const struct heap_state *s, const struct heap_info *i)
{
    return i->epoch == s->epoch ? i->saved : i->live;
}

const struct heap_amount *heap_sampled_peak(const struct heap_state *s,
                                            const struct heap_sampled *e)
{
    return e->epoch == s->epoch ? &e->saved : &e->sums.live;
}

static struct heap_amount blocks(uint64_t count, uint64_t bytes)
{
    return (struct heap_amount){count * bytes, count * 1000, 0, 0};
}

static void add_sums(struct heap_sums *to, const struct heap_sums *from)
{
    heap_add(&to->allocated, &from->allocated);
    heap_add(&to->freed, &from->freed);
    heap_add(&to->temporary, &from->temporary);
    heap_add(&to->live, &from->live);
}

static struct heap_stack *stack_of(struct heap *h, uint64_t number)
{
    size_t held = h->stack_count * sizeof(*h->stacks);
    uint64_t place;

    if (intmap_get(&h->pass->stack_places, number, &place))
        return &h->stacks[place];
    if ((h->stack_count & (h->stack_count - 1)) == 0) /* at each power of two, twice the room */
        h->stacks = memory_resize(h->stacks, held ? held * 2 : sizeof(*h->stacks));
    intmap_put(&h->pass->stack_places, number, h->stack_count);
    memset(&h->stacks[h->stack_count], 0, sizeof(*h->stacks));
    h->stacks[h->stack_count].number = number;
    return &h->stacks[h->stack_count++];
}

/* One info or entry, in the terms of both. */
struct part {
    uint32_t place; /* of its process */
    uint64_t stack;
    unsigned int size_class;
    const struct heap_sums *sums;
    uint64_t peak_bytes;
    uint64_t least, most, first_ns, last_ns;
};

static void widen(struct heap_stack *s, const struct part *p)
{
    if (!p->sums->allocated.milliblocks)
        return;
    if (!s->first_ns || p->first_ns < s->first_ns)
        s->first_ns = p->first_ns;
    if (p->last_ns > s->last_ns)
        s->last_ns = p->last_ns;
    if (!s->most || p->least < s->least)
        s->least = p->least;
    if (p->most > s->most)
        s->most = p->most;
}

/* Which stack allocated most bytes of a class: sums only grow, so the largest so far is it. */
static void rank(struct heap *h, struct intmap *sums, const struct part *p)
{
    uint64_t key = (uint64_t)p->size_class << 32 | p->stack, bytes = 0;
    struct heap_size *size = &h->sizes[p->size_class];

    intmap_get(sums, key, &bytes);
    bytes += p->sums->allocated.bytes;
    intmap_put(sums, key, bytes);
    if (bytes > size->stack_bytes) {
        size->stack_bytes = bytes;
        size->stack = p->stack;
    }
}

static struct heap_stack *fold_part(struct heap *h, struct intmap *class_sums, const struct part *p)
{
    struct heap_process *process = h->processes[p->place - 1];
    struct heap_stack *s = stack_of(h, p->stack);

    if (s->mark != p->place) {
        s->mark = p->place;
        s->held = 0;
        s->processes++;
    }
    s->held += p->peak_bytes;
    if (s->held > process->peak_stack_bytes) {
        process->peak_stack_bytes = s->held;
        process->peak_stack = p->stack;
    }
    add_sums(&s->sums, p->sums);
    add_sums(&process->sums, p->sums);
    add_sums(&h->sums, p->sums);
    add_sums(&h->sizes[p->size_class].sums, p->sums);
    widen(s, p);
    rank(h, class_sums, p);
    return s;
}

static void fold_info(struct heap *h, struct intmap *class_sums, uint32_t place,
                      const struct heap_info *i)
{
    const struct heap_state *state = h->processes[place - 1]->state;
    struct heap_sums sums = {blocks(i->allocs, i->bytes), blocks(i->frees, i->bytes),
                             blocks(i->temporary, i->bytes), blocks(i->live, i->bytes)};
    struct part p = {
        .place = place,
        .stack = i->stack,
        .size_class = heap_size_class(i->bytes),
        .sums = &sums,
        .peak_bytes = heap_info_peak(state, i) * i->bytes,
        .least = i->bytes,
        .most = i->bytes,
        .first_ns = i->first_ns,
        .last_ns = i->last_ns,
    };
    struct heap_stack *s = fold_part(h, class_sums, &p);

    if (i->python)
        heap_add(&s->python, &sums.allocated);
    for (int c = 0; c < HEAP_LIVED_CLASSES; c++) {
        s->lived[c] += i->lived[c] * 1000ull;
        h->lived[c] += i->lived[c] * 1000ull;
    }
}

static void fold_sampled(struct heap *h, struct intmap *class_sums, const struct heap_sampled *e)
{
    const struct heap_state *state = h->processes[e->process - 1]->state;
    struct part p = {
        .place = e->process,
        .stack = e->stack,
        .size_class = e->size_class,
        .sums = &e->sums,
        .peak_bytes = heap_sampled_peak(state, e)->bytes,
        .least = e->least,
        .most = e->most,
        .first_ns = e->first_ns,
        .last_ns = e->last_ns,
    };
    struct heap_stack *s = fold_part(h, class_sums, &p);

    heap_add(&s->python, &e->python);
    for (int c = 0; c < HEAP_LIVED_CLASSES; c++) {
        s->lived[c] += e->lived[c];
        h->lived[c] += e->lived[c];
    }
}

void heap_fold(struct heap *h)
{
    struct intmap class_sums = {0};

    for (size_t n = 0; n < h->process_count; n++) {
        const struct heap_state *s = h->processes[n]->state;

        for (size_t i = 1; i <= s->info_count; i++)
            if (s->infos[i].defined && (s->infos[i].epoch || s->infos[i].live))
                fold_info(h, &class_sums, (uint32_t)n + 1, &s->infos[i]);
        h->unknown_frees += h->processes[n]->unknown_frees;
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        fold_sampled(h, &class_sums, &h->pass->sampled[i]);
    intmap_free(&class_sums);
}

static void fold_one_at(struct heap *h, uint64_t stack, unsigned int size_class,
                        const struct heap_amount *amount, struct heap_amount *sum)
{
    if (!amount->milliblocks)
        return;
    heap_add(&stack_of(h, stack)->at, amount);
    heap_add(&h->sizes[size_class].at, amount);
    heap_add(sum, amount);
}

struct heap_amount heap_fold_at(struct heap *h)
{
    struct heap_amount sum = {0};

    for (size_t i = 0; i < h->stack_count; i++)
        h->stacks[i].at = (struct heap_amount){0};
    for (int i = 0; i < HEAP_SIZE_CLASSES; i++)
        h->sizes[i].at = (struct heap_amount){0};
    for (size_t n = 0; n < h->process_count; n++) {
        const struct heap_state *s = h->processes[n]->state;

        for (size_t i = 1; i <= s->info_count; i++) {
            struct heap_amount amount = blocks(s->infos[i].at, s->infos[i].bytes);

            fold_one_at(h, s->infos[i].stack, heap_size_class(s->infos[i].bytes), &amount, &sum);
        }
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++) {
        const struct heap_sampled *e = &h->pass->sampled[i];

        fold_one_at(h, e->stack, e->size_class, &e->at, &sum);
    }
    return sum;
}
