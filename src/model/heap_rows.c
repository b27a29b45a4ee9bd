/* heap_rows - see heap_rows.h. */
#include "analyze/heap_rows.h"

#include "analyze/covered.h"
#include "base/intmap.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_stack(struct heap_stack *to, const struct heap_stack *from)
{
    heap_add(&to->sums.allocated, &from->sums.allocated);
    heap_add(&to->sums.freed, &from->sums.freed);
    heap_add(&to->sums.temporary, &from->sums.temporary);
    heap_add(&to->sums.live, &from->sums.live);
    heap_add(&to->at, &from->at);
    for (int i = 0; i < HEAP_LIVED_CLASSES; i++)
        to->lived[i] += from->lived[i];
    if (from->most) {
        to->least = !to->most || from->least < to->least ? from->least : to->least;
        to->most = from->most > to->most ? from->most : to->most;
        to->first_ns = !to->first_ns || from->first_ns < to->first_ns ? from->first_ns
                                                                      : to->first_ns;
        to->last_ns = from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
    }
    to->processes = from->processes > to->processes ? from->processes : to->processes;
}

static void add_row(struct heap_row *to, const struct heap_stack *s, uint64_t weight)
{
    add_stack(&to->sum, s);
    to->stacks++;
    to->weight += weight;
    if (weight > to->best) {
        to->best = weight;
        to->stack = s->number;
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

static void sort_and_limit(struct heap_rows *r, const struct heap *h, uint64_t standard)
{
    uint64_t most = h->options.rows ? h->options.rows : standard;

    memory_sort(r->rows, r->count, sizeof(*r->rows), compare);
    for (size_t i = (size_t)most; most < r->count && i < r->count; i++) {
        add_stack(&r->rest.sum, &r->rows[i].sum);
        r->rest.stacks += r->rows[i].stacks;
        r->rest.weight += r->rows[i].weight;
        r->left++;
    }
    if (most < r->count)
        r->count = (size_t)most;
}

static struct heap_row *rows_for(struct heap *h)
{
    return arena_alloc(h->run.names.arena, (h->stack_count + 1) * sizeof(struct heap_row));
}

/* One number for all stacks that read the same: their frames may be at different addresses of one
 * line. A parent comes before its children.
 */
static uint64_t *stack_keys(const struct frames *f)
{
    uint64_t *keys = memory_zeroed((f->stack_count + 1) * sizeof(*keys));
    struct table_frame names[FRAMES_INLINED_MOST];

    for (size_t i = 1; i <= f->stack_count; i++) {
        size_t n = frames_expand(f, f->stacks[i].frame, names, FRAMES_INLINED_MOST);

        keys[i] = intmap_mix(keys[f->stacks[i].parent], n);
        while (n--)
            keys[i] = intmap_mix(keys[i], frames_key(&names[n]));
    }
    return keys;
}

/* The row of a key, which is new on first sight. */
static struct heap_row *row_of(struct heap_rows *r, struct intmap *places, uint64_t key,
                               uint64_t stack)
{
    uint64_t place;

    if (intmap_get(places, key, &place))
        return &r->rows[place];
    intmap_put(places, key, r->count);
    r->rows[r->count].stack = stack;
    return &r->rows[r->count++];
}

void heap_rows_ranked(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard,
                      heap_rank *rank, void *context)
{
    uint64_t *keys = stack_keys(&h->frames);
    struct intmap places = {0};

    *r = (struct heap_rows){.rows = rows_for(h)};
    for (size_t i = 0; i < h->stack_count; i++) {
        struct heap_stack *s = &h->stacks[i];
        uint64_t w = weight(s), key = s->number <= h->frames.stack_count ? keys[s->number] : 0;
        struct heap_row *row;

        if (!w)
            continue;
        row = row_of(r, &places, key, s->number);
        add_row(row, s, w);
        s->next = row->first;
        row->first = (uint32_t)i + 1;
    }
    free(keys);
    intmap_free(&places);
    for (size_t i = 0; i < r->count && rank; i++)
        rank(&r->rows[i], context);
    sort_and_limit(r, h, standard);
    for (size_t i = 0; i < r->count; i++)
        r->rows[i].site = frames_site(&h->frames, r->rows[i].stack);
}

void heap_rows_stacks(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard)
{
    heap_rows_ranked(r, h, weight, standard, NULL, NULL);
}

void heap_rows_sites(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard)
{
    struct intmap places = {0};

    *r = (struct heap_rows){.rows = rows_for(h)};
    for (size_t i = 0; i < h->stack_count; i++) {
        const struct heap_stack *s = &h->stacks[i];
        uint64_t w = weight(s);
        struct table_frame site;
        struct heap_row *row;

        if (!w)
            continue;
        site = frames_site(&h->frames, s->number);
        row = row_of(r, &places, frames_key(&site), s->number);
        if (!row->stacks)
            row->site = site;
        add_row(row, s, w);
    }
    intmap_free(&places);
    sort_and_limit(r, h, standard);
}

const struct heap_row *heap_rows_at(const struct heap_rows *r, size_t i)
{
    if (i < r->count)
        return &r->rows[i];
    return i == r->count && r->left ? &r->rest : NULL;
}

void heap_cell_bytes(struct table_cell *c, const struct heap_amount *a)
{
    cell_number(c, a->bytes);
}

void heap_cell_blocks(struct table_cell *c, const struct heap_amount *a)
{
    cell_number(c, heap_blocks(a));
}

void heap_cell_error(struct table_cell *c, const struct heap_amount *a)
{
    if (a->variance > 0)
        cell_real(c, heap_error(a));
}

void heap_cell_percent(struct table_cell *c, double part, double whole)
{
    if (whole > 0)
        cell_real(c, part / whole * 100);
}

void heap_cell_site(struct table_cell *c, const struct heap *h, const struct heap_rows *r,
                    const struct heap_row *row)
{
    struct arena *a = h->run.names.arena;

    if (row == &r->rest)
        cell_text(c,
                  arena_printf(a, "(%" PRIu64 " smaller one%s)", r->left, r->left == 1 ? "" : "s"));
    else if (!row->stack)
        cell_text(c, "(stack not known)");
    else
        cell_text(c, table_frame_text(a, &row->site));
}

void heap_cell_stack(struct table_cell *c, const struct heap *h, const struct heap_row *row)
{
    cell_stack(c, frames_stack(&h->frames, h->run.names.arena, row->stack));
}

const char *heap_basis(const struct heap *h, const struct heap_amount *a)
{
    if (!h->sampled)
        return "exact";
    return arena_printf(h->run.names.arena, "sampled, ±%.1f %%", heap_error(a));
}

const char *heap_peak_basis(const struct heap *h)
{
    double error = heap_error(&h->peak);

    if (h->sampled && error > 10)
        return arena_printf(h->run.names.arena,
                            "sampled, ±%.1f %%; as the largest of many estimates it is rather too "
                            "large",
                            error);
    if (h->sampled)
        return heap_basis(h, &h->peak);
    return h->peak_at_least ? "exact for its moment; the true peak of several processes may be "
                              "higher"
                            : "exact";
}

bool heap_begin(struct heap *h, struct answer *a, struct table *t)
{
    covered_answer(a, &h->run);
    if (!h->any)
        t->note = "The trace holds no allocations.";
    return h->any;
}
