/* heap_rows - see heap_rows.h. */
#include "model/heap_rows.h"

#include "base/hash.h"
#include "base/intmap.h"
#include "base/memory.h"
#include "model/heap_pass.h"

#include <stdlib.h>
#include <string.h>

void heap_stack_sum_add(struct heap_stack_sum *to, const struct heap_stack_sum *from)
{
    heap_add(&to->sums.allocated, &from->sums.allocated);
    heap_add(&to->sums.temporary, &from->sums.temporary);
    heap_add(&to->sums.live, &from->sums.live);
    heap_add(&to->at, &from->at);
    to->at_mapped += from->at_mapped;
    to->at_shared += from->at_shared;
    heap_add(&to->unreached, &from->unreached);
    to->held += from->held;
    heap_seen_add(&to->seen, &from->seen);
    to->processes = from->processes > to->processes ? from->processes : to->processes;
}

static void add_row(struct heap_row *to, uint64_t stack, const struct heap_stack_sum *sum,
                    uint64_t weight)
{
    heap_stack_sum_add(&to->sum, sum);
    to->stacks++;
    to->weight += weight;
    if (weight > to->best) {
        to->best = weight;
        to->stack = stack;
    }
}

static int compare(const void *left, const void *right)
{
    const struct heap_row *l = left, *r = right;

    if (l->rank != r->rank)
        return l->rank < r->rank ? 1 : -1;
    if (l->weight != r->weight)
        return l->weight < r->weight ? 1 : -1;
    return l->stack < r->stack ? -1 : l->stack > r->stack;
}

/* Of those that stay, in the arena: there may be a million of them at first. */
static void keep(struct heap_rows *r, const struct heap *h)
{
    struct heap_row *all = r->rows;

    r->rows = arena_alloc(h->arena, (r->count + 1) * sizeof(*r->rows));
    if (r->count)
        memcpy(r->rows, all, r->count * sizeof(*r->rows));
    free(all);
}

static void sort_and_limit(struct heap_rows *r, const struct heap *h, uint64_t standard)
{
    uint64_t most = h->options.rows ? h->options.rows : standard;

    memory_sort(r->rows, r->count, sizeof(*r->rows), compare);
    for (size_t i = (size_t)most; most < r->count && i < r->count; i++) {
        heap_stack_sum_add(&r->rest.sum, &r->rows[i].sum);
        if (r->rest.life)
            heap_life_add(r->rest.life, r->rows[i].life);
        r->rest.stacks += r->rows[i].stacks;
        r->rest.weight += r->rows[i].weight;
        r->left++;
    }
    if (most < r->count)
        r->count = (size_t)most;
    keep(r, h);
}

/* The row of a key, which is new on first sight. */
static struct heap_row *row_of(struct heap_rows *r, struct intmap *places, uint64_t key,
                               uint64_t stack)
{
    uint64_t place;

    if (intmap_get(places, key, &place))
        return &r->rows[place];
    intmap_put(places, key, r->count);
    memory_extend(r->rows, r->room, r->count, r->count + 1);
    r->rows[r->count].stack = stack;
    return &r->rows[r->count++];
}

void heap_rows_ranked(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard,
                      heap_rank *rank, void *context)
{
    uint64_t *keys = frames_stack_keys(h->frames, frames_key);
    struct intmap places = {0};

    *r = (struct heap_rows){0};
    for (size_t i = 0; i < h->stack_count; i++) {
        struct heap_stack *s = &h->stacks[i];
        struct heap_stack_sum sum = heap_stack_sum(h, s);
        uint64_t w = weight(&sum), key = s->number <= h->frames->stack_count ? keys[s->number] : 0;
        struct heap_row *row;

        if (!w)
            continue;
        row = row_of(r, &places, key, s->number);
        add_row(row, s->number, &sum, w);
        s->next = row->first;
        row->first = (uint32_t)i + 1;
    }
    free(keys);
    intmap_free(&places);
    for (size_t i = 0; i < r->count && rank; i++)
        rank(&r->rows[i], context);
    sort_and_limit(r, h, standard);
    for (size_t i = 0; i < r->count; i++)
        r->rows[i].site = frames_site(h->frames, r->rows[i].stack);
}

void heap_rows_stacks(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard)
{
    heap_rows_ranked(r, h, weight, standard, NULL, NULL);
}

/* `of`: by stack, 1 + the place of its row; NULL: nobody asks. */
static void find_sites(struct heap_rows *r, struct heap *h, heap_weight *weight, uint32_t *of)
{
    struct intmap places = {0};

    *r = (struct heap_rows){0};
    for (size_t i = 0; i < h->stack_count; i++) {
        const struct heap_stack *s = &h->stacks[i];
        struct heap_stack_sum sum = heap_stack_sum(h, s);
        uint64_t w = weight(&sum);
        struct table_frame site;
        struct heap_row *row;

        if (!w)
            continue;
        site = frames_site(h->frames, s->number);
        row = row_of(r, &places, frames_key(&site), s->number);
        if (!row->stacks)
            row->site = site;
        add_row(row, s->number, &sum, w);
        if (of)
            of[i] = (uint32_t)(row - r->rows) + 1;
    }
    intmap_free(&places);
}

void heap_rows_sites(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard)
{
    find_sites(r, h, weight, NULL);
    sort_and_limit(r, h, standard);
}

struct lives {
    const struct heap *heap;
    struct heap_rows *rows;
    uint32_t *of;
};

static void take_life(void *context, uint64_t stack, const struct heap_life *life)
{
    struct lives *l = context;
    uint32_t place = heap_stack_place(l->heap, stack), row = place ? l->of[place - 1] : 0;

    if (row)
        heap_life_add(l->rows->rows[row - 1].life, life);
}

void heap_rows_sites_linked(struct heap_rows *r, struct heap *h, heap_weight *weight,
                            uint64_t standard)
{
    uint32_t *of = memory_zeroed((h->stack_count + 1) * sizeof(*of));

    find_sites(r, h, weight, of);
    for (size_t i = 0; i < h->stack_count; i++)
        if (of[i]) {
            h->stacks[i].next = r->rows[of[i] - 1].first;
            r->rows[of[i] - 1].first = (uint32_t)i + 1;
        }
    free(of);
    sort_and_limit(r, h, standard);
}

void heap_rows_sites_lived(struct heap_rows *r, struct heap *h, heap_weight *weight,
                           uint64_t standard)
{
    uint32_t *of = memory_zeroed((h->stack_count + 1) * sizeof(*of));
    struct lives lives = {h, r, of};

    find_sites(r, h, weight, of);
    for (size_t i = 0; i < r->count; i++)
        r->rows[i].life = arena_alloc(h->arena, sizeof(*r->rows[i].life));
    r->rest.life = arena_alloc(h->arena, sizeof(*r->rest.life));
    heap_each_life(h, take_life, &lives);
    free(of);
    sort_and_limit(r, h, standard);
}

const struct heap_row *heap_rows_at(const struct heap_rows *r, size_t i)
{
    if (i < r->count)
        return &r->rows[i];
    return i == r->count && r->left ? &r->rest : NULL;
}
