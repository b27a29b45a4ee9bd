/* heap_cells - see heap_cells.h. */
#include "questions/heap_cells.h"

#include "base/text.h"
#include "model/covered.h"
#include "model/heap_counts.h"
#include "questions/covered_answer.h"

#include <inttypes.h>
#include <string.h>

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

void heap_cell_whole_error(struct table_cell *c, const struct heap *h, const struct heap_amount *a)
{
    double error = heap_whole_error(h, a);

    if (error > 0)
        cell_real(c, error);
}

void heap_cell_blocks_error(struct table_cell *c, const struct heap *h, const struct heap_amount *a,
                            uint64_t least)
{
    double error = heap_counts_error(h, a, least);

    if (error > 0)
        cell_real(c, error);
}

void heap_cell_percent(struct table_cell *c, double part, double whole)
{
    if (whole > 0)
        cell_real(c, part / whole * 100);
}

void heap_cell_mapped(struct table_cell *c, const struct heap *h, const struct heap_row *row)
{
    if (h->mapped)
        cell_number(c, row->sum.at_mapped + row->sum.at_shared);
}

void heap_cells_memory(struct answer *a, struct table *facts, const struct heap *h, const char *of,
                       const struct heap_amount parts[TRACE_MEMORY_COUNTED])
{
    static const char *const names[TRACE_MEMORY_COUNTED] = {[TRACE_MEMORY_HEAP] = "allocated",
                                                            [TRACE_MEMORY_MAPPED] = "mapped",
                                                            [TRACE_MEMORY_SHARED] = "shared"};

    for (int i = 0; h->mapped && i < TRACE_MEMORY_COUNTED; i++)
        cell_number(table_fact(a, facts, arena_printf(a->arena, "%s_%s", of, names[i]), UNIT_BYTES),
                    parts[i].bytes);
}

void heap_cell_site(struct table_cell *c, const struct heap *h, const struct heap_rows *r,
                    const struct heap_row *row)
{
    struct arena *a = h->arena;

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
    cell_stack(c, frames_shared(h->frames, row->stack));
}

/* With what the whole trace lacks, and records that this reader could not make use of. */
const char *heap_lacking(const struct heap *h, const char *basis)
{
    struct lacking l = h->run->lacking;

    l.parts |= h->left_out > 0;
    return lacking_said(&l, h->arena, basis);
}

/* Of blocks that were recorded each from a size on, and of smaller ones by samples. */
static const char *basis_of_both(const struct heap *h, const struct heap_amount *a,
                                 const char *whole)
{
    char size[TEXT_SIZE];

    if (a->milliblocks && a->variance > 0)
        return arena_printf(h->arena, "%s, ±%.1f %%", whole, heap_whole_error(h, a));
    return arena_printf(h->arena, "%s; no sample was of these, so less than %s", whole,
                        text_size(size, heap_counts_bound(h)));
}

static const char *basis_of(const struct heap *h, const struct heap_amount *a)
{
    const char *whole = covered_whole(h->run);
    char size[TEXT_SIZE];

    if (!h->sampled)
        return "exact";
    if (whole)
        return basis_of_both(h, a, whole);
    if (!a->milliblocks)
        return arena_printf(h->arena, "sampled: no sample, so less than %s",
                            text_size(size, heap_counts_bound(h)));
    return arena_printf(h->arena, "sampled, ±%.1f %%", heap_whole_error(h, a));
}

/* Of a reservation it is known now and then what is resident. */
static const char *with_looks(const struct heap *h, const char *basis)
{
    return h->reserved ? arena_printf(h->arena, "%s; reservations by what was seen resident", basis)
                       : basis;
}

const char *heap_basis(const struct heap *h, const struct heap_amount *a)
{
    return heap_lacking(h, with_looks(h, basis_of(h, a)));
}

const char *heap_basis_brief(const struct heap *h, const struct heap_amount *a)
{
    const char *how = covered_whole(h->run) ? "partly sampled" : "sampled";

    if (!h->sampled || !(a->variance > 0))
        return heap_lacking(h, with_looks(h, "exact"));
    return heap_lacking(h, arena_printf(h->arena, "%s, ±%.1f %%", how, heap_error(a)));
}

static const char *peak_basis_of(const struct heap *h)
{
    if (h->sampled)
        return basis_of(h, &h->peak);
    return h->peak_of_several ? "exact, to a tick of the recorder" : "exact";
}

/* Where blocks were allocated is not kept of all. */
static void say_unknown(const struct heap *h, struct answer *a)
{
    a->asked = arena_printf(h->arena,
                            "%s%s%" PRIu64 " allocations are left out: their step and labels were "
                            "not kept.",
                            a->asked ? a->asked : "", a->asked ? " " : "", h->born_unknown);
}

const char *heap_peak_basis(const struct heap *h)
{
    return heap_lacking(h, with_looks(h, peak_basis_of(h)));
}

static const char *without_any(const struct heap *h)
{
    const char *how = names_find(h->run->names, TRACE_OF_RUN, FACT_RECORDED);
    char size[TEXT_SIZE];

    if (!how)
        return "The trace holds no allocations: 'tidemark record' records them.";
    if (strcmp(how, "no") == 0)
        return "The trace holds no allocations: it was recorded with --cpu-only.";
    if (!h->sampled || !(h->mean > 0))
        return "The trace holds no allocations.";
    return arena_printf(
        h->arena,
        "The trace holds no allocations: they were sampled, and no sample was drawn, so there was "
        "less than %s of them.",
        text_size(size, heap_counts_bound(h)));
}

bool heap_begin(struct heap *h, struct answer *a, struct table *t)
{
    covered_answer(a, h->run);
    if (h->born_unknown)
        say_unknown(h, a);
    if (!h->any)
        t->note = without_any(h);
    return h->any;
}
