/* question_oom - where memory ran out, or a process was killed: what was asked for, by whom, what
 * was held then and what for, the largest blocks and the latest, and what the machine had left.
 */
#include "base/count.h"
#include "base/hash.h"
#include "model/live_blocks.h"
#include "model/oom.h"
#include "model/space_lens.h"
#include "model/tensor_cut.h"
#include "questions/heap_cells.h"
#include "questions/oom_pools.h"
#include "questions/tensor_parts.h"

#include <inttypes.h>

#define ROWS 15   /* of who holds memory */
#define BLOCKS 10 /* the largest, and the latest */

enum {
    REFUSED_MOST,
    REFUSED_TIMES,
    REFUSED_LAST,
    REFUSED_SPACE,
    REFUSED_CALL,
    REFUSED_OP,
    REFUSED_SITE,
    REFUSED_STACK
};

static const struct table_column refused_columns[] = {
    [REFUSED_MOST] = {"asked_for", UNIT_BYTES}, [REFUSED_TIMES] = {"times", UNIT_COUNT},
    [REFUSED_LAST] = {"last", UNIT_NS},         [REFUSED_SPACE] = {"space", UNIT_TEXT},
    [REFUSED_CALL] = {"call", UNIT_TEXT},       [REFUSED_OP] = {"op", UNIT_TEXT, .detail = true},
    [REFUSED_SITE] = {"site", UNIT_TEXT},       [REFUSED_STACK] = {"stack", UNIT_STACK},
};

enum { HELD_BYTES, HELD_PERCENT, HELD_BLOCKS, HELD_ERROR, HELD_OP, HELD_SITE, HELD_STACK };

static const struct table_column held_columns[] = {
    [HELD_BYTES] = {"bytes", UNIT_BYTES},
    [HELD_PERCENT] = {"percent", UNIT_PERCENT},
    [HELD_BLOCKS] = {"blocks", UNIT_COUNT},
    [HELD_ERROR] = {"error_percent", UNIT_PERCENT, .detail = true},
    [HELD_OP] = {"op", UNIT_TEXT, .detail = true},
    [HELD_SITE] = {"site", UNIT_TEXT},
    [HELD_STACK] = {"stack", UNIT_STACK},
};

enum { BLOCK_BYTES, BLOCK_BORN, BLOCK_AGE, BLOCK_KIND, BLOCK_OP, BLOCK_SITE };

static const struct table_column block_columns[] = {
    [BLOCK_BYTES] = {"bytes", UNIT_BYTES},
    [BLOCK_BORN] = {"born", UNIT_NS},
    [BLOCK_AGE] = {"age", UNIT_NS, .detail = true},
    [BLOCK_KIND] = {"kind", UNIT_TEXT, .detail = true},
    [BLOCK_OP] = {"op", UNIT_TEXT, .detail = true},
    [BLOCK_SITE] = {"site", UNIT_TEXT},
};

struct state {
    struct tensor_state tensors;
    struct oom oom;
    struct live_blocks blocks;
    struct oom_pools pools; /* with all spaces */
    struct intmap kinds;    /* of tensors that live, by process and birth */
};

static void take_space(void *context, const struct trace_event *ev)
{
    struct asked *q = context;

    space_list_take(&((struct state *)q->state)->pools.told.spaces, &q->recorded->names, ev);
}

static void begin(struct asked *q)
{
    struct state *s = q->state;

    oom_begin(&s->oom, q->recorded);
    recorded_take_first(q->recorded, take_space, q);
}

static void again(struct asked *q)
{
    struct state *s = q->state;
    struct heap *h = &q->recorded->heap;

    oom_find(&s->oom, q->options, &s->pools.told.spaces);
    if (s->oom.how != OOM_NONE)
        oom_pools_want(q, &s->pools, s->oom.time_ns);
    op_stacks_start(&s->tensors.stacks, &q->recorded->frames, &q->recorded->arena);
    if (s->oom.how == OOM_NONE || !h->any)
        return;
    heap_want(h, HEAP_AT_TIME, s->oom.time_ns);
    tensors_want(&s->tensors.tensors, h, &s->tensors.stacks);
    s->tensors.tensors.shadows = true;
    live_blocks_want(&s->blocks, h, s->oom.time_ns);
}

/* ---- what happened ---- */

static const char *site_of(const struct asked *q, uint64_t stack)
{
    struct table_frame site;

    if (!stack || stack > q->recorded->frames.stack_count)
        return "(stack not known)";
    site = frames_site(&q->recorded->frames, stack);
    return table_frame_text(q->answer->arena, &site);
}

static const struct op_stack *op_of(struct asked *q, uint64_t stack)
{
    struct state *s = q->state;

    return op_stacks_get(&s->tensors.stacks, stack <= q->recorded->frames.stack_count ? stack : 0);
}

static const char *space_name(const struct state *s, uint64_t number)
{
    for (size_t i = 0; i < s->pools.told.spaces.count; i++)
        if (s->pools.told.spaces.list[i].number == number)
            return s->pools.told.spaces.list[i].name;
    return number == SPACE_HOST ? "host" : NULL;
}

static void put_failure(struct asked *q, struct table *t, const struct oom_failure *f)
{
    struct answer *a = q->answer;
    const struct op_stack *from = op_of(q, f->stack);

    cell_number(table_fact(a, t, "asked_for", UNIT_BYTES), f->live_bytes);
    cell_text(table_fact(a, t, "call", UNIT_TEXT), names_get(&q->recorded->names, f->call));
    cell_text(table_fact(a, t, "space", UNIT_TEXT), space_name(q->state, f->space));
    cell_text(table_fact(a, t, "site", UNIT_TEXT), site_of(q, f->stack));
    if (from->op) {
        cell_text(table_fact(a, t, "op", UNIT_TEXT), from->op);
        cell_text(table_fact(a, t, "phase", UNIT_TEXT), op_phase_text(from->phase));
        cell_text(table_fact(a, t, "module", UNIT_TEXT), from->modules);
    }
}

static void put_metric(struct answer *a, struct table *t, const char *name, const struct metrics *m,
                       enum trace_metric metric)
{
    struct table_cell *c = table_fact(a, t, name, UNIT_BYTES);
    uint64_t value;

    if (metrics_get(m, metric, &value))
        cell_number(c, value);
}

/* As it was sampled last: what happened since is not in it. */
static void put_machine(struct answer *a, struct table *t, const struct oom *o)
{
    uint64_t total, used;
    struct table_cell *swap;

    if (!o->sampled_ns)
        return;
    cell_number(table_fact(a, t, "sampled_before", UNIT_NS), o->time_ns - o->sampled_ns);
    put_metric(a, t, "rss", &o->tree, METRIC_RSS);
    put_metric(a, t, "memory_available", &o->machine, METRIC_MACHINE_AVAILABLE);
    put_metric(a, t, "memory_total", &o->machine, METRIC_MACHINE_TOTAL);
    swap = table_fact(a, t, "swap_free", UNIT_BYTES);
    if (metrics_get(&o->machine, METRIC_MACHINE_SWAP_TOTAL, &total) &&
        metrics_get(&o->machine, METRIC_MACHINE_SWAP_USED, &used))
        cell_number(swap, total > used ? total - used : 0);
    put_metric(a, t, "cgroup_current", &o->cgroup, METRIC_CGROUP_CURRENT);
}

static void put_facts(struct asked *q, const struct oom *o, struct table *t)
{
    struct answer *a = q->answer;

    cell_text(table_fact(a, t, "what", UNIT_TEXT), oom_text(o, a->arena));
    cell_number(table_fact(a, t, "time", UNIT_NS), o->time_ns);
    if (o->process) {
        cell_text(table_fact(a, t, "process", UNIT_TEXT), o->process->name);
        cell_number(table_fact(a, t, "pid", UNIT_ID), o->process->pid);
    }
    if (o->failure)
        put_failure(q, t, o->failure);
    put_machine(a, t, o);
}

static void put_refused(struct asked *q, const struct oom *o)
{
    struct answer *a = q->answer;
    struct table *t;

    if (!o->count)
        return;
    t = answer_add(a, "refused", TABLE_ROWS, refused_columns, COUNT(refused_columns));
    for (size_t i = 0; i < o->count; i++) {
        const struct oom_failure *f = &o->list[i];
        struct table_cell *c = table_add(a, t);

        cell_number(&c[REFUSED_MOST], f->most);
        cell_number(&c[REFUSED_TIMES], f->times);
        cell_number(&c[REFUSED_LAST], f->last_ns);
        cell_text(&c[REFUSED_SPACE], space_name(q->state, f->space));
        cell_text(&c[REFUSED_CALL], names_get(&q->recorded->names, f->call));
        cell_text(&c[REFUSED_OP], op_of(q, f->stack)->op);
        cell_text(&c[REFUSED_SITE], site_of(q, f->stack));
        cell_stack(&c[REFUSED_STACK], frames_shared(&q->recorded->frames, f->stack));
    }
    if (o->elsewhere)
        t->note = "Ask what was held in another space with --space NAME.";
    table_sort(t, REFUSED_LAST);
}

/* ---- what was held ---- */

static uint64_t held_then(const struct heap_stack_sum *s)
{
    return s->at.bytes;
}

static void put_held(struct asked *q, uint64_t whole)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct table *t = answer_add(a, "held", TABLE_ROWS, held_columns, COUNT(held_columns));
    const struct heap_row *row;
    struct heap_rows rows;

    heap_rows_stacks(&rows, h, held_then, ROWS);
    for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++) {
        struct table_cell *c = table_add(a, t);

        heap_cell_bytes(&c[HELD_BYTES], &row->sum.at);
        heap_cell_percent(&c[HELD_PERCENT], (double)row->sum.at.bytes, (double)whole);
        heap_cell_blocks(&c[HELD_BLOCKS], &row->sum.at);
        heap_cell_error(&c[HELD_ERROR], &row->sum.at);
        cell_text(&c[HELD_OP], op_of(q, row->stack)->op);
        heap_cell_site(&c[HELD_SITE], h, &rows, row);
        heap_cell_stack(&c[HELD_STACK], h, row);
    }
}

static uint64_t birth(uint32_t place, uint64_t number)
{
    return hash_mix(hash_mix(3, place), number);
}

static void note_kinds(struct state *s, const struct tensors_moment *m)
{
    const struct tensors *t = &s->tensors.tensors;

    for (size_t i = 0; i < t->count; i++)
        if (tensors_alive(m, &t->list[i]))
            intmap_put(&s->kinds, birth(t->list[i].place, t->list[i].born_no), t->list[i].kind);
}

static void put_blocks(struct asked *q, const char *name, live_blocks_before *before)
{
    struct answer *a = q->answer;
    struct state *s = q->state;
    struct table *t = answer_add(a, name, TABLE_ROWS, block_columns, COUNT(block_columns));
    size_t most = q->options->rows ? (size_t)q->options->rows : BLOCKS;
    const struct live_block **list;
    size_t count = live_blocks_first(
        &s->blocks, before, most < s->blocks.count ? most : s->blocks.count, a->arena, &list);

    for (size_t i = 0; i < count; i++) {
        struct table_cell *c = table_add(a, t);
        uint64_t kind;

        cell_number(&c[BLOCK_BYTES], list[i]->bytes);
        cell_number(&c[BLOCK_BORN], list[i]->born_ns);
        cell_number(&c[BLOCK_AGE], s->oom.time_ns - list[i]->born_ns);
        if (intmap_get(&s->kinds, birth(list[i]->place, list[i]->born_no), &kind))
            cell_text(&c[BLOCK_KIND], tensor_parts_text((int)kind));
        cell_text(&c[BLOCK_OP], op_of(q, list[i]->stack)->op);
        cell_text(&c[BLOCK_SITE], site_of(q, list[i]->stack));
    }
    if (q->recorded->heap.sampled)
        t->note = "Of blocks that were recorded one by one: samples of smaller ones are left out.";
}

static void put_kinds(struct asked *q, uint64_t whole)
{
    struct state *s = q->state;
    struct tensors_moment m = {&q->recorded->heap, HEAP_AT_TIME, s->oom.time_ns};
    struct tensor_parts p = {0};

    if (!s->tensors.tensors.count)
        return;
    tensor_kinds_all(&s->tensors.tensors, q->answer->arena);
    tensor_cut_judge(&s->tensors.tensors, &m);
    note_kinds(s, &m);
    tensor_parts_sum(&p, q, &s->tensors, &m);
    tensor_parts_put(q->answer, tensor_parts_table(q->answer), &p, whole);
    tensor_parts_free(&p);
}

static void put_heap(struct asked *q, struct table *facts)
{
    struct answer *a = q->answer;
    struct state *s = q->state;
    struct heap *h = &q->recorded->heap;
    struct heap_amount sum;

    if (!heap_begin(h, a, facts))
        return;
    sum = heap_at(h, HEAP_AT_TIME, s->oom.time_ns);
    heap_cell_bytes(table_fact(a, facts, "live_heap", UNIT_BYTES), &sum);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT), heap_basis(h, &sum));
    heap_cell_blocks(table_fact(a, facts, "blocks", UNIT_COUNT), &sum);
    put_kinds(q, sum.bytes);
    put_held(q, sum.bytes);
    put_blocks(q, "largest", live_blocks_larger);
    put_blocks(q, "latest", live_blocks_later);
}

/* Tensors of a device are in its pools, if these are told of. */
static const char *elsewhere_text(struct asked *q)
{
    const struct state *s = q->state;
    const char *name = space_name(s, s->oom.list[0].space), *pool = NULL;

    for (size_t i = 0; i < s->pools.told.spaces.count && !pool; i++)
        if (s->pools.told.spaces.list[i].kind == TRACE_SPACE_POOL)
            pool = s->pools.told.spaces.list[i].name;
    return arena_printf(q->answer->arena,
                        "Memory was refused in another space alone: --space %s asks about it%s%s.",
                        name ? name : "NAME", pool ? ", and about the tensors there --space " : "",
                        pool ? pool : "");
}

static int run(struct asked *q, struct err *err)
{
    struct state *s = q->state;
    struct table *facts = answer_facts(q->answer, "facts");

    (void)err;
    if (s->oom.how == OOM_NONE) {
        heap_begin(&q->recorded->heap, q->answer, facts);
        facts->note = s->oom.elsewhere
                        ? elsewhere_text(q)
                        : "Memory did not run out: no allocation was refused, and no process was "
                          "killed. --at says what was held at another moment.";
    } else {
        put_facts(q, &s->oom, facts);
        put_heap(q, facts);
        oom_pools_put(q, &s->pools);
    }
    put_refused(q, &s->oom);
    intmap_free(&s->kinds);
    live_blocks_free(&s->blocks);
    oom_pools_free(&s->pools);
    tensor_end(&s->tensors);
    return 0;
}

const struct question question_oom = {
    .name = "oom",
    .summary = "where memory ran out: what was asked for, and what was held then",
    .group = QUESTION_OF_ALLOCATIONS,
    .about =
        "oom is about the moment when the kernel killed a process for lack of memory; failing "
        "that, when an allocation was refused (of several, the one when most was held); failing "
        "that, when a process was ended by SIGKILL, SIGBUS or SIGABRT; failing that, when the "
        "trace was cut off. --at chooses another moment. What the machine had left is from the "
        "last sample before it.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct state),
    .begin = begin,
    .again = again,
    .run = run,
};
