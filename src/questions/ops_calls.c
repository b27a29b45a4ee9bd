/* ops_calls - see ops_calls.h. */
#include "questions/ops_calls.h"

#include "base/count.h"
#include "base/memory.h"
#include "model/covered.h"
#include "questions/cells.h"

#include <inttypes.h>
#include <string.h>

#define ROWS 50
#define WHY "tidemark: --ops: " /* how a mark begins that says why (inject/torch_start.py) */

enum { OP, CALLS, ABOVE, OWN, ALLOCATED, FREED, CHANGE, TIME };

static const struct table_column columns[] = {
    [OP] = {"op", UNIT_TEXT},
    [CALLS] = {"calls", UNIT_COUNT},
    [ABOVE] = {"above_entry", UNIT_BYTES},
    [OWN] = {"own", UNIT_BYTES},
    [ALLOCATED] = {"allocated", UNIT_BYTES},
    [FREED] = {"freed", UNIT_BYTES},
    [CHANGE] = {"change", UNIT_CHANGE},
    [TIME] = {"time", UNIT_NS},
};

static void take(void *context, const struct trace_event *ev)
{
    struct ops_calls *o = context;
    const char *name;

    op_calls_take(&o->calls, ev);
    if (ev->kind != TRACE_MARK || ev->mark.mark_kind != TRACE_MARK_MOMENT)
        return;
    name = names_get(o->calls.heap->frames->names, ev->mark.name);
    if (name && strncmp(name, WHY, strlen(WHY)) == 0)
        o->why = name + strlen(WHY);
}

void ops_calls_again(struct asked *q, struct ops_calls *o)
{
    op_calls_start(&o->calls, &q->recorded->heap, q->options->finer.from_ns,
                   q->options->finer.to_ns);
    recorded_take_again(q->recorded, take, o, UINT64_MAX);
}

static int by_own(const void *a, const void *b)
{
    const struct op_calls_row *x = a, *y = b;

    if (x->own != y->own)
        return x->own > y->own ? -1 : 1;
    if (x->above != y->above)
        return x->above > y->above ? -1 : 1;
    if (x->calls != y->calls)
        return x->calls > y->calls ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static void put_row(struct asked *q, struct table *t, const struct op_calls_row *r)
{
    struct table_cell *c = table_add(q->answer, t);

    cell_text(&c[OP], names_get(&q->recorded->names, r->name));
    cell_number(&c[CALLS], r->calls);
    cell_number(&c[ABOVE], r->above);
    cell_number(&c[OWN], r->own);
    cell_number(&c[ALLOCATED], r->allocated);
    cell_number(&c[FREED], r->freed);
    cell_change(&c[CHANGE], r->freed, r->allocated);
    cell_number(&c[TIME], r->time_ns);
}

/* What is within each other adds up for nobody but by calls and what is their own. */
static void put_rest(struct asked *q, struct table *t, const struct op_calls *o, size_t from,
                     size_t to)
{
    uint64_t calls = 0, own = 0;
    struct table_cell *c;

    for (size_t i = from; i < to; i++) {
        calls += o->rows[i].calls;
        own += o->rows[i].own;
    }
    if (from == to)
        return;
    c = table_add(q->answer, t);
    cell_text(&c[OP], arena_printf(q->answer->arena, "(%zu smaller one%s)", to - from,
                                   to - from == 1 ? "" : "s"));
    cell_number(&c[CALLS], calls);
    cell_number(&c[OWN], own);
}

static const char *note_of(struct asked *q, const struct op_calls *o)
{
    if (o->left_out)
        return arena_printf(q->answer->arena,
                            "%" PRIu64
                            " operators are left out: they are nested too deeply, or too many.",
                            o->left_out);
    return q->recorded->heap.sampled && !covered_whole(q->recorded->heap.run)
             ? "Only blocks that were recorded one by one count as memory: record with "
               "--exact=4KiB."
             : "Calls are exact; memory is that of blocks recorded one by one, which the "
               "operator's thread allocated and freed while it ran.";
}

static void put_table(struct asked *q, struct op_calls *o)
{
    struct table *t = answer_add(q->answer, "calls", TABLE_ROWS, columns, COUNT(columns));
    uint64_t most = q->options->rows ? q->options->rows : ROWS;
    size_t count = o->count, shown;

    memory_sort(o->rows, o->count, sizeof(*o->rows), by_own);
    while (count && !o->rows[count - 1].calls)
        count--;
    shown = most < count ? (size_t)most : count;
    for (size_t i = 0; i < shown; i++)
        put_row(q, t, &o->rows[i]);
    put_rest(q, t, o, shown, count);
    t->note = note_of(q, o);
}

void ops_calls_put(struct asked *q, struct ops_calls *o, struct table *facts)
{
    struct op_calls *c = &o->calls;

    op_calls_end(c);
    if (c->told) {
        cell_number(table_fact(q->answer, facts, "op_calls", UNIT_COUNT), c->told);
        cell_number(table_fact(q->answer, facts, "op_calls_unended", UNIT_COUNT), c->unended);
        put_table(q, c);
    } else if (o->why)
        facts->note = arena_printf(
            q->answer->arena, "No operator was recorded, though --ops asked for it: %s.", o->why);
    else if (names_find(q->recorded->run.names, TRACE_OF_RUN, FACT_OPS))
        facts->note = "No operator was recorded, though --ops asked for it: no process has loaded "
                      "PyTorch for Python, or none ran.";
    op_calls_free(c);
}
