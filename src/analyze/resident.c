/* resident - the resident memory of a run at one moment, explained: parts that add up to it.
 *
 * The moment is a sample: the one with the largest rss, or the one nearest to what was asked for.
 * The kernel says how much of it is anonymous, of files and shared; the live heap is taken at the
 * very time of the sample. Blocks that were never touched, or are swapped out, are not resident, and
 * nobody knows which: where the live heap is larger than all anonymous memory, it is cut to that, and
 * so is each site's part. What remains is the allocator's slack, stacks and data.
 */
#include "analyze/heap_rows.h"
#include "analyze/mappings.h"
#include "analyze/question.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define SITES 10 /* unless others are asked for */

enum { ANONYMOUS, FILES, SHARED, SORTS };

struct moment {
    const struct heap *heap;
    bool largest; /* wanted: the sample with the largest rss, else the nearest to wanted_ns */
    uint64_t wanted_ns;
    bool found;
    uint64_t time_ns, rss, sorts[SORTS], threads;
    bool known[SORTS], threads_known;
};

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static bool in_stretch(const struct question_options *o, uint64_t time_ns)
{
    return time_ns >= o->from_ns && (!o->to_ns || time_ns <= o->to_ns);
}

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    static const enum trace_metric metrics[SORTS] = {METRIC_RSS_ANON, METRIC_RSS_FILE,
                                                     METRIC_RSS_SHMEM};
    struct moment *m = context;
    uint64_t rss;

    if (!run_tree(r, METRIC_RSS, &rss) || !in_stretch(&m->heap->options, time_ns))
        return;
    if (m->found && (m->largest ? rss <= m->rss
                                : apart(time_ns, m->wanted_ns) >= apart(m->time_ns, m->wanted_ns)))
        return;
    m->found = true;
    m->time_ns = time_ns;
    m->rss = rss;
    for (int i = 0; i < SORTS; i++)
        m->known[i] = run_tree(r, metrics[i], &m->sorts[i]);
    m->threads_known = run_tree(r, METRIC_THREADS, &m->threads);
}

/* The heap is complete when the ticks come, so its peak is known. */
static void on_tick_of_peak(const struct run *r, uint64_t time_ns, void *context)
{
    struct moment *m = context;

    m->wanted_ns = m->heap->peak_ns;
    on_tick(r, time_ns, context);
}

static void read_trace(struct heap *heap, struct trace *t, const struct question_options *o,
                       struct answer *a, struct moment *m)
{
    m->heap = heap;
    m->largest = o->at == QUESTION_AT_DEFAULT;
    m->wanted_ns = o->at == QUESTION_AT_TIME ? o->at_ns : UINT64_MAX;
    heap_read(heap, a->arena, t, o, o->at == QUESTION_AT_PEAK ? on_tick_of_peak : on_tick, m);
}

/* ---- the parts ---- */

static const struct table_column columns[] = {
    {"depth", UNIT_DEPTH},     {"part", UNIT_TEXT}, {"resident", UNIT_BYTES},
    {"asked_for", UNIT_BYTES}, {"how", UNIT_TEXT},  {"stack", UNIT_STACK},
};

struct parts {
    struct answer *answer;
    struct table *table;
    uint64_t left; /* of the rss: what no part has yet */
};

static struct table_cell *put_part(struct parts *p, uint64_t depth, const char *name,
                                   const char *how)
{
    struct table_cell *c = table_add(p->answer, p->table);

    cell_number(&c[0], depth);
    cell_text(&c[1], name);
    cell_text(&c[4], how);
    return c;
}

/* A part of the rss itself takes no more than what is left of it. */
static uint64_t take(struct parts *p, uint64_t bytes)
{
    uint64_t taken = bytes < p->left ? bytes : p->left;

    p->left -= taken;
    return taken;
}

static const char *how_known(const struct heap *h)
{
    return h->sampled ? "sampled: an estimate" : "exact size";
}

/* Where not all of it can be resident, each has the same share of what is. */
static uint64_t share(uint64_t bytes, uint64_t resident, uint64_t live)
{
    return live > resident ? (uint64_t)((__uint128_t)bytes * resident / live) : bytes;
}

static uint64_t weight(const struct heap_stack *s)
{
    return s->at.bytes;
}

/* The last of them has what rounding leaves, so that they add up. */
static void put_sites(struct parts *p, struct heap *h, uint64_t resident, uint64_t live)
{
    const struct heap_row *row, *next;
    struct heap_rows rows;
    uint64_t left = resident;

    heap_rows_sites(&rows, h, weight, SITES);
    row = heap_rows_at(&rows, 0);
    for (size_t i = 1; row; row = next, i++) {
        uint64_t bytes = row->sum.at.bytes, part = share(bytes, resident, live);
        struct table_cell *c = put_part(p, 1, NULL, how_known(h));

        next = heap_rows_at(&rows, i);
        heap_cell_site(&c[1], h, &rows, row);
        cell_number(&c[2], next ? part : left);
        cell_number(&c[3], bytes);
        heap_cell_stack(&c[5], h, row);
        left -= part < left ? part : left;
    }
}

static void put_heap(struct parts *p, struct heap *h, const struct moment *m, uint64_t live)
{
    uint64_t most = m->known[ANONYMOUS] ? m->sorts[ANONYMOUS] : m->rss;
    uint64_t resident = take(p, live < most ? live : most);
    struct table_cell *c = put_part(p, 0, "live heap",
                                    resident < live ? "derived: a bound, some of it is not resident"
                                                    : "derived: taken as resident");

    cell_number(&c[2], resident);
    cell_number(&c[3], live);
    put_sites(p, h, resident, live);
}

static void put_measured(struct parts *p, const struct moment *m, int sort, const char *name,
                         uint64_t mapped)
{
    struct table_cell *c = put_part(p, 0, name,
                                    m->known[sort] ? "sampled" : "not measured: in the rest");

    if (m->known[sort])
        cell_number(&c[2], take(p, m->sorts[sort]));
    if (mapped)
        cell_number(&c[3], mapped);
}

/* Of these the size is known at best; what of it is resident is in the rest. */
static void put_unmeasured(struct parts *p, const struct moment *m, const struct mappings *mapped)
{
    struct table_cell *c = put_part(p, 0, "anonymous mappings of the program",
                                    "exact size; what is resident of it is in the rest");
    struct answer *a = p->answer;

    cell_number(&c[3], mapped->anonymous_bytes);
    if (mapped->arena_bytes) {
        c = put_part(p, 0, "arenas of the program's own allocators",
                     "exact size; their blocks are in the live heap, what is free in the rest");
        cell_number(&c[3], mapped->arena_bytes);
    }
    put_part(p, 0,
             m->threads_known
                 ? arena_printf(a->arena, "stacks of threads: %llu", (unsigned long long)m->threads)
                 : "stacks of threads",
             "not measured: in the rest");
}

static void read_mappings(struct mappings *mapped, struct trace *t, uint64_t time_ns)
{
    struct trace_event ev;

    trace_rewind(t, 0, time_ns);
    while (trace_next(t, &ev))
        mappings_take(mapped, &ev);
}

static void put_parts(struct answer *a, struct heap *h, struct trace *t, const struct moment *m)
{
    struct parts p = {a, answer_add(a, "parts", TABLE_ROWS, columns, COUNT(columns)), m->rss};
    struct heap_amount live = {0};
    struct mappings mapped = {0};

    if (h->any)
        live = heap_at(h, t, HEAP_AT_TIME, m->time_ns);
    read_mappings(&mapped, t, m->time_ns);
    if (h->any)
        put_heap(&p, h, m, live.bytes);
    put_measured(&p, m, FILES, "mapped files", mapped.file_bytes);
    put_measured(&p, m, SHARED,
                 h->any ? "shared memory, with tidemark's own buffers" : "shared memory", 0);
    put_unmeasured(&p, m, &mapped);
    cell_number(&put_part(&p, 0,
                          h->any ? "the rest: allocator slack, stacks, data"
                                 : "the rest: heap, stacks, data",
                          "derived: what remains")[2],
                p.left);
    mappings_free(&mapped);
    p.table->note =
        "The parts without indentation add up to rss; asked_for also counts what is not "
        "resident.";
}

static void put_facts(struct answer *a, const struct moment *m)
{
    static const struct table_column facts[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};
    struct table *t = answer_add(a, "facts", TABLE_FACTS, facts, COUNT(facts));

    cell_number(table_fact(a, t, "at", UNIT_NS), m->time_ns);
    cell_number(table_fact(a, t, "rss", UNIT_BYTES), m->rss);
    cell_text(table_fact(a, t, "moment", UNIT_TEXT),
              m->largest ? "the sample with the largest rss" : "the sample nearest to it");
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct moment m = {0};
    struct heap heap;
    int result = 0;

    read_trace(&heap, t, o, a, &m);
    a->health = heap.run.health;
    if (m.found) {
        put_facts(a, &m);
        put_parts(a, &heap, t, &m);
    } else {
        result = err_set(err, "the trace holds no sample of resident memory%s",
                         o->from_ns || o->to_ns ? " in this time" : "");
    }
    heap_free(&heap);
    return result;
}

const struct question question_resident = {
    .name = "resident",
    .summary = "what the resident memory consists of, adding up to it",
    .run = run,
};
