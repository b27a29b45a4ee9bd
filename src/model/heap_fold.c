/* heap_fold - from infos and sampled entries to stacks, classes of sizes and processes. */
#include "model/heap_pass.h"

#include "base/memory.h"

#include <stdlib.h>
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

static void add_sums(struct heap_sums *to, const struct heap_sums *from)
{
    heap_add(&to->allocated, &from->allocated);
    heap_add(&to->freed, &from->freed);
    heap_add(&to->temporary, &from->temporary);
    heap_add(&to->live, &from->live);
}

/* ---- stacks ---- */

static void spread_add(struct heap_spread *to, const struct heap_amount *from)
{
    to->variance += from->variance;
    to->of_blocks += from->of_blocks;
}

static struct heap_amount amount_of(const struct heap_count *c, const struct heap_spread *s)
{
    return (struct heap_amount){c->bytes, c->milliblocks, s->variance, s->of_blocks};
}

static const struct heap_stack_spread exact; /* of most stacks of an exact recording */

static const struct heap_stack_spread *spread_of(const struct heap *h, const struct heap_stack *s)
{
    size_t at = (size_t)(s - h->stacks);
    uint32_t place = at < h->pass->spread_places_room ? h->pass->spread_places[at] : 0;

    return place ? &h->pass->spreads[place - 1] : &exact;
}

/* To add to. */
static struct heap_stack_spread *make_spread(struct heap *h, const struct heap_stack *s)
{
    struct heap_pass *p = h->pass;
    uint32_t *place;

    memory_fit_zeroed(p->spread_places, p->spread_places_room, p->stack_room);
    place = &p->spread_places[s - h->stacks];
    if (!*place) {
        memory_extend(p->spreads, p->spread_room, p->spread_count, p->spread_count + 1);
        *place = (uint32_t)++p->spread_count;
    }
    return &p->spreads[*place - 1];
}

struct heap_count heap_stack_unreached(const struct heap *h, const struct heap_stack *s)
{
    size_t place = (size_t)(s - h->stacks);

    return place < h->pass->unreached_room ? h->unreached[place] : (struct heap_count){0};
}

static void add_unreached(struct heap *h, const struct heap_stack *s,
                          const struct heap_amount *more)
{
    size_t place = (size_t)(s - h->stacks);

    if (!more->milliblocks)
        return;
    memory_fit_zeroed(h->unreached, h->pass->unreached_room, place + 1);
    heap_count_add(&h->unreached[place], more);
}

static struct heap_seen seen_of(const struct heap *h, const struct heap_stack *s)
{
    size_t place = (size_t)(s - h->stacks);

    return place < h->pass->seen_room ? h->pass->seen[place] : (struct heap_seen){0};
}

struct heap_stack_sum heap_stack_sum(const struct heap *h, const struct heap_stack *s)
{
    const struct heap_stack_spread *spread = spread_of(h, s);
    const struct heap_count unreached = heap_stack_unreached(h, s);

    return (struct heap_stack_sum){
        .sums = {.allocated = amount_of(&s->sums.allocated, &spread->allocated),
                 .temporary = amount_of(&s->sums.temporary, &spread->temporary),
                 .live = amount_of(&s->sums.live, &spread->live)},
        .at = amount_of(&s->at, &spread->at),
        .unreached = amount_of(&unreached, &exact.at),
        .at_mapped = spread->at_mapped,
        .at_shared = spread->at_shared,
        .held = s->held,
        .seen = seen_of(h, s),
        .processes = s->processes,
    };
}

struct heap_amount heap_stack_at(const struct heap *h, const struct heap_stack *s)
{
    return amount_of(&s->at, &spread_of(h, s)->at);
}

void heap_stack_at_set(struct heap *h, struct heap_stack *s, const struct heap_amount *at)
{
    s->at = (struct heap_count){at->bytes, at->milliblocks};
    if (spread_of(h, s) != &exact || at->variance > 0 || at->of_blocks > 0)
        make_spread(h, s)->at = (struct heap_spread){at->variance, at->of_blocks};
}

static struct heap_stack *stack_of(struct heap *h, uint64_t number)
{
    uint32_t *place = &h->pass->stack_places[number];

    if (*place)
        return &h->stacks[*place - 1];
    memory_fit(h->stacks, h->pass->stack_room, h->stack_count + 1);
    memset(&h->stacks[h->stack_count], 0, sizeof(*h->stacks));
    h->stacks[h->stack_count].number = (uint32_t)number;
    *place = (uint32_t)++h->stack_count;
    return &h->stacks[*place - 1];
}

/* One info or entry, in the terms of both. */
struct part {
    uint32_t place; /* of its process */
    uint64_t stack;
    unsigned int size_class;
    const struct heap_sums *sums;
    uint64_t peak_bytes;
    struct heap_seen seen;
};

/* How sure a number of sampled blocks is depends on it. */
static void note_seen(struct heap *h, size_t place, const struct part *p)
{
    if (!h->sampled && !h->pass->timed)
        return;
    memory_fit_zeroed(h->pass->seen, h->pass->seen_room, place + 1);
    heap_seen_add(&h->pass->seen[place], &p->seen);
}

/* What stacks allocated of each class of sizes. Most have but one, and a million of them are not
 * worth a million entries of a map: the first class is beside the stack, others are in the map.
 */
struct class_sums {
    struct first_class {
        uint64_t bytes;
        unsigned int size_class; /* 1 + it; 0: none yet */
    } * firsts;                  /* by place of the stack */
    size_t room;
    struct intmap others;
};

static uint64_t add_to_class(struct class_sums *c, size_t place, const struct part *p)
{
    uint64_t key = (uint64_t)p->size_class << 32 | p->stack, bytes = 0;
    struct first_class *first;

    memory_fit_zeroed(c->firsts, c->room, place + 1);
    first = &c->firsts[place];
    if (!first->size_class)
        first->size_class = p->size_class + 1;
    if (first->size_class == p->size_class + 1)
        return first->bytes += p->sums->allocated.bytes;
    intmap_get(&c->others, key, &bytes);
    bytes += p->sums->allocated.bytes;
    intmap_put(&c->others, key, bytes);
    return bytes;
}

/* Which stack allocated most bytes of a class: sums only grow, so the largest so far is it. */
static void rank(struct heap *h, struct class_sums *sums, size_t place, const struct part *p)
{
    struct heap_size *size = &h->sizes[p->size_class];
    uint64_t bytes = add_to_class(sums, place, p);

    if (bytes > size->stack_bytes) {
        size->stack_bytes = bytes;
        size->stack = p->stack;
    }
}

static struct heap_stack *fold_part(struct heap *h, struct class_sums *class_sums,
                                    const struct part *p)
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
    heap_count_add(&s->sums.allocated, &p->sums->allocated);
    heap_count_add(&s->sums.temporary, &p->sums->temporary);
    heap_count_add(&s->sums.live, &p->sums->live);
    add_sums(&process->sums, p->sums);
    add_sums(&h->sizes[p->size_class].sums, p->sums);
    note_seen(h, (size_t)(s - h->stacks), p);
    rank(h, class_sums, (size_t)(s - h->stacks), p);
    return s;
}

static void fold_info(struct heap *h, struct class_sums *class_sums, uint32_t place,
                      const struct heap_info *i)
{
    const struct heap_state *state = h->processes[place - 1]->state;
    size_t number = (size_t)(i - state->infos);
    struct heap_sums sums = {
        heap_whole_blocks(i->allocs, i->bytes), heap_whole_blocks(i->frees, i->bytes),
        heap_whole_blocks(i->temporary, i->bytes), heap_whole_blocks(i->live, i->bytes)};
    struct part p = {
        .place = place,
        .stack = i->stack,
        .size_class = heap_size_class(i->bytes),
        .sums = &sums,
        .peak_bytes = heap_info_peak(state, i) * i->bytes,
        .seen = {.any = i->allocs, .least = i->bytes, .most = i->bytes},
    };
    struct heap_stack *s;

    if (number < state->times_count) {
        p.seen.first_ns = state->times[number].first_ns;
        p.seen.last_ns = state->times[number].last_ns;
    }
    s = fold_part(h, class_sums, &p);
    if (number < state->unreached_room) {
        struct heap_amount unreached = heap_whole_blocks(state->unreached[number], i->bytes);

        add_unreached(h, s, &unreached);
    }
}

static void fold_sampled(struct heap *h, struct class_sums *class_sums,
                         const struct heap_sampled *e)
{
    const struct heap_state *state = h->processes[e->process - 1]->state;
    struct part p = {
        .place = e->process,
        .stack = e->stack,
        .size_class = e->size_class,
        .sums = &e->sums,
        .peak_bytes = heap_sampled_peak(state, e)->bytes,
        .seen = {e->sums.allocated.milliblocks, e->least, e->most, e->first_ns, e->last_ns},
    };
    struct heap_stack *s = fold_part(h, class_sums, &p);
    struct heap_stack_spread *spread = make_spread(h, s);

    spread_add(&spread->allocated, &e->sums.allocated);
    spread_add(&spread->temporary, &e->sums.temporary);
    spread_add(&spread->live, &e->sums.live);
    for (int c = 0; c < HEAP_LIVED_CLASSES; c++)
        h->lived[c] += e->lived[c];
}

void heap_fold(struct heap *h)
{
    struct class_sums class_sums = {0};

    h->pass->stack_places = memory_zeroed((h->frames->stack_count + 1) * sizeof(uint32_t));
    for (size_t n = 0; n < h->process_count; n++) {
        const struct heap_state *s = h->processes[n]->state;

        for (size_t i = 1; i <= s->info_count; i++)
            if (heap_info_is_used(&s->infos[i]))
                fold_info(h, &class_sums, (uint32_t)n + 1, &s->infos[i]);
        h->unknown_frees += h->processes[n]->unknown_frees;
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        fold_sampled(h, &class_sums, &h->pass->sampled[i]);
    for (size_t n = 0; n < h->process_count; n++)
        add_sums(&h->sums, &h->processes[n]->sums);
    free(class_sums.firsts);
    intmap_free(&class_sums.others);
}

/* ---- what lived at a moment ---- */

static struct heap_stack *fold_one_at(struct heap *h, uint64_t stack, unsigned int size_class,
                                      const struct heap_amount *amount)
{
    struct heap_stack *s = stack_of(h, stack);

    heap_count_add(&s->at, amount);
    heap_add(&h->sizes[size_class].at, amount);
    return s;
}

static void fold_infos_at(struct heap *h, const struct heap_state *s)
{
    for (size_t i = 1; s->at && i <= s->info_count; i++) {
        struct heap_amount amount = heap_whole_blocks(s->at[i], s->infos[i].bytes);

        if (!s->at[i])
            continue;
        fold_one_at(h, s->infos[i].stack, heap_size_class(s->infos[i].bytes), &amount);
        heap_add(&h->at_memory[TRACE_MEMORY_HEAP], &amount);
    }
}

static void fold_sampled_at(struct heap *h, const struct heap_sampled *e)
{
    struct heap_stack_spread *spread;

    if (!e->at.milliblocks)
        return;
    spread = make_spread(h, fold_one_at(h, e->stack, e->size_class, &e->at));
    spread_add(&spread->at, &e->at);
    spread->at_mapped += e->memory == TRACE_MEMORY_MAPPED ? e->at.bytes : 0;
    spread->at_shared += e->memory == TRACE_MEMORY_SHARED ? e->at.bytes : 0;
    heap_add(&h->at_memory[e->memory], &e->at);
}

static void forget_at(struct heap *h)
{
    for (size_t i = 0; i < h->stack_count; i++)
        h->stacks[i].at = (struct heap_count){0};
    for (size_t i = 0; i < h->pass->spread_count; i++) {
        h->pass->spreads[i].at = (struct heap_spread){0};
        h->pass->spreads[i].at_mapped = h->pass->spreads[i].at_shared = 0;
    }
    memset(h->at_memory, 0, sizeof(h->at_memory));
    for (int i = 0; i < HEAP_SIZE_CLASSES; i++)
        h->sizes[i].at = (struct heap_amount){0};
}

struct heap_amount heap_fold_at(struct heap *h)
{
    struct heap_amount sum = {0};

    forget_at(h);
    for (size_t n = 0; n < h->process_count; n++)
        fold_infos_at(h, h->processes[n]->state);
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        fold_sampled_at(h, &h->pass->sampled[i]);
    for (int i = 0; i < TRACE_MEMORY_COUNTED; i++)
        heap_add(&sum, &h->at_memory[i]);
    return sum;
}
