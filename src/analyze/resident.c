/* resident - the resident memory of a run at one moment, explained: parts that add up to it.
 *
 * The moment is a sample: the one with the largest rss, or the one nearest to what was asked for. In
 * few samples the recorder has looked where it is; one of these is taken if it is as good. Its rss is
 * the sum of what was seen there. In the others the kernel says only how much is anonymous, of
 * files and shared, and stacks, data and slack are one rest.
 *
 * The live heap is taken at the very time of the sample. Blocks that were never touched, or are
 * swapped out, are not resident, and nobody knows which: where the live heap is larger than all memory
 * that it could be in, it is cut to that, and so is each site's part.
 */
#include "analyze/covered.h"
#include "analyze/heap_rows.h"
#include "analyze/mappings.h"
#include "analyze/question.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define SITES 10 /* unless others are asked for */

#define NEAR_NS 1000000000u /* a sample that is looked into may be off by as much, */
#define NEAR_PART 10        /* or smaller than the largest by one part in this many */

enum { ANONYMOUS, FILES, SHARED, SORTS };
enum { HEAP, STACK, DATA, FILE_PAGES, SHARED_PAGES, ANON, PLACES };

struct sample {
    bool found, looked_into; /* looked into: `places` are known, not `sorts` */
    uint64_t time_ns, rss, sorts[SORTS], places[PLACES], threads;
    bool known[SORTS], threads_known;
};

struct moment {
    const struct heap *heap;
    bool largest; /* wanted: the sample with the largest rss, else the nearest to wanted_ns */
    uint64_t wanted_ns;
    struct sample any, inside; /* the best of all, and of those that were looked into */
};

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static bool in_stretch(const struct question_options *o, uint64_t time_ns)
{
    return time_ns >= o->from_ns && (!o->to_ns || time_ns <= o->to_ns);
}

static void keep_better(const struct moment *m, struct sample *best, const struct sample *s)
{
    bool better = m->largest ? s->rss > best->rss
                             : apart(s->time_ns, m->wanted_ns) < apart(best->time_ns, m->wanted_ns);

    if (!best->found || better)
        *best = *s;
}

/* The same moment by its places, if they are known: their sum is the rss. */
static bool look_into(struct sample *s, const struct run *r)
{
    static const enum trace_metric metrics[PLACES] = {METRIC_RESIDENT_HEAP,   METRIC_RESIDENT_STACK,
                                                      METRIC_RESIDENT_DATA,   METRIC_RESIDENT_FILE,
                                                      METRIC_RESIDENT_SHARED, METRIC_RESIDENT_ANON};

    s->looked_into = true;
    s->rss = 0;
    for (int i = 0; i < PLACES; i++) {
        if (!metrics_get(&r->tree, metrics[i], &s->places[i]))
            return false;
        s->rss += s->places[i];
    }
    return true;
}

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    static const enum trace_metric metrics[SORTS] = {METRIC_RSS_ANON, METRIC_RSS_FILE,
                                                     METRIC_RSS_SHMEM};
    struct moment *m = context;
    struct sample s = {.found = true, .time_ns = time_ns};

    if (!run_tree(r, METRIC_RSS, &s.rss) || !in_stretch(&m->heap->options, time_ns))
        return;
    for (int i = 0; i < SORTS; i++)
        s.known[i] = run_tree(r, metrics[i], &s.sorts[i]);
    s.threads_known = run_tree(r, METRIC_THREADS, &s.threads);
    keep_better(m, &m->any, &s);
    if (look_into(&s, r))
        keep_better(m, &m->inside, &s);
}

static const struct sample *choose(const struct moment *m)
{
    const struct sample *any = &m->any, *inside = &m->inside;
    bool good = m->largest ? inside->rss >= any->rss - any->rss / NEAR_PART
                           : apart(inside->time_ns, any->time_ns) <= NEAR_NS;

    return inside->found && good ? inside : any;
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

/* Where blocks can be. */
static uint64_t heap_most(const struct sample *s)
{
    if (s->looked_into)
        return s->places[HEAP] + s->places[ANON];
    return s->known[ANONYMOUS] ? s->sorts[ANONYMOUS] : s->rss;
}

static void put_heap(struct parts *p, struct heap *h, const struct sample *m, uint64_t live)
{
    uint64_t most = heap_most(m);
    uint64_t resident = take(p, live < most ? live : most);
    struct table_cell *c = put_part(p, 0, "live heap",
                                    resident < live ? "derived: a bound, some of it is not resident"
                                                    : "derived: taken as resident");

    cell_number(&c[2], resident);
    cell_number(&c[3], live);
    put_sites(p, h, resident, live);
}

static void put_measured(struct parts *p, const struct sample *m, int sort, const char *name,
                         uint64_t mapped)
{
    struct table_cell *c = put_part(p, 0, name,
                                    m->known[sort] ? "sampled" : "not measured: in the rest");

    if (m->known[sort])
        cell_number(&c[2], take(p, m->sorts[sort]));
    if (mapped)
        cell_number(&c[3], mapped);
}

static const char *name_stacks(const struct parts *p, const struct sample *s)
{
    if (!s->threads_known)
        return "stacks of threads";
    return arena_printf(p->answer->arena, "stacks of threads: %llu",
                        (unsigned long long)s->threads);
}

static const char *name_shared(const struct heap *h)
{
    return h->any ? "shared memory, with tidemark's own buffers" : "shared memory";
}

static void put_arenas(struct parts *p, const struct mappings *mapped, const char *how)
{
    if (mapped->arena_bytes)
        cell_number(&put_part(p, 0, "arenas of the program's own allocators", how)[3],
                    mapped->arena_bytes);
}

/* Of these the size is known at best; what of it is resident is in the rest. */
static void put_unmeasured(struct parts *p, const struct sample *m, const struct mappings *mapped)
{
    struct table_cell *c = put_part(p, 0, "anonymous mappings of the program",
                                    "exact size; what is resident of it is in the rest");

    cell_number(&c[3], mapped->anonymous_bytes);
    put_arenas(p, mapped,
               "exact size; their blocks are in the live heap, what is free in the rest");
    put_part(p, 0, name_stacks(p, m), "not measured: in the rest");
}

static void put_place(struct parts *p, uint64_t bytes, const char *name, const char *how,
                      uint64_t mapped)
{
    struct table_cell *c = put_part(p, 0, name, how);

    cell_number(&c[2], take(p, bytes));
    if (mapped)
        cell_number(&c[3], mapped);
}

/* Malloc's areas beyond [heap] and what the program maps itself look the same from outside. */
static void put_slack(struct parts *p, const struct heap *h, uint64_t bytes,
                      const struct mappings *mapped)
{
    const char *name = "allocator slack";
    const char *how = h->sampled
                        ? "derived: what malloc holds less the live heap, an estimate; with "
                          "tidemark's tables"
                        : "derived: what malloc holds less the live heap; with tidemark's tables";

    if (!h->any) {
        name = "heap and anonymous mappings";
        how = "sampled";
    } else if (mapped->anonymous_bytes) {
        name = "allocator slack, and anonymous mappings of the program";
        how = "derived: all anonymous memory less the live heap; with tidemark's tables";
    }
    put_place(p, bytes, name, how, mapped->anonymous_bytes);
}

static void put_places(struct parts *p, const struct heap *h, const struct sample *s,
                       const struct mappings *mapped)
{
    uint64_t held = s->places[HEAP] + s->places[ANON], live = s->rss - p->left;

    put_slack(p, h, held - live, mapped);
    put_arenas(p, mapped,
               "exact size; their blocks are in the live heap, what is free in the slack");
    put_place(p, s->places[STACK], name_stacks(p, s), "sampled, by page", 0);
    put_place(p, s->places[DATA], "data of programs and libraries", "sampled", 0);
    put_place(p, s->places[FILE_PAGES], "mapped files", "sampled", mapped->file_bytes);
    put_place(p, s->places[SHARED_PAGES], name_shared(h), "sampled", 0);
}

static void put_sorts(struct parts *p, const struct heap *h, const struct sample *s,
                      const struct mappings *mapped)
{
    put_measured(p, s, FILES, "mapped files", mapped->file_bytes);
    put_measured(p, s, SHARED, name_shared(h), 0);
    put_unmeasured(p, s, mapped);
    put_place(p, p->left,
              h->any ? "the rest: allocator slack, stacks, data" : "the rest: heap, stacks, data",
              "derived: what remains", 0);
}

static void read_mappings(struct mappings *mapped, struct trace *t, uint64_t time_ns)
{
    struct trace_event ev;

    trace_rewind(t, 0, time_ns);
    while (trace_next(t, &ev))
        mappings_take(mapped, &ev);
}

static void put_parts(struct answer *a, struct heap *h, struct trace *t, const struct sample *m)
{
    struct parts p = {a, answer_add(a, "parts", TABLE_ROWS, columns, COUNT(columns)), m->rss};
    struct heap_amount live = {0};
    struct mappings mapped = {0};

    if (h->any)
        live = heap_at(h, t, HEAP_AT_TIME, m->time_ns);
    read_mappings(&mapped, t, m->time_ns);
    if (h->any)
        put_heap(&p, h, m, live.bytes);
    if (m->looked_into)
        put_places(&p, h, m, &mapped);
    else
        put_sorts(&p, h, m, &mapped);
    mappings_free(&mapped);
    p.table->note =
        "The parts without indentation add up to rss; asked_for also counts what is not "
        "resident.";
}

static const char *name_moment(const struct moment *m, const struct sample *s)
{
    if (s->looked_into)
        return m->largest ? "the largest rss of those samples that tell where it is"
                          : "the nearest sample that tells where it is";
    return m->largest ? "the sample with the largest rss" : "the sample nearest to it";
}

static void put_facts(struct answer *a, const struct moment *m, const struct sample *s)
{
    static const struct table_column facts[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};
    struct table *t = answer_add(a, "facts", TABLE_FACTS, facts, COUNT(facts));

    cell_number(table_fact(a, t, "at", UNIT_NS), s->time_ns);
    cell_number(table_fact(a, t, "rss", UNIT_BYTES), s->rss);
    cell_text(table_fact(a, t, "moment", UNIT_TEXT), name_moment(m, s));
    if (s->looked_into && m->largest)
        cell_number(table_fact(a, t, "largest_rss_of_a_sample", UNIT_BYTES), m->any.rss);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct moment m = {0};
    struct heap heap;
    int result = 0;

    read_trace(&heap, t, o, a, &m);
    covered_answer(a, &heap.run);
    if (m.any.found) {
        put_facts(a, &m, choose(&m));
        put_parts(a, &heap, t, choose(&m));
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
