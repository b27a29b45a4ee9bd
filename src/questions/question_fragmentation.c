/* question_fragmentation - the memory that pools have reserved, what of it is used, and in which
 * pieces the rest is. */
#include "base/absent.h"
#include "base/count.h"
#include "base/memory.h"
#include "model/mapping_read.h"
#include "model/reserves.h"
#include "questions/heap_cells.h"
#include "questions/pool_rows.h"
#include "questions/tensor_answer.h"

#define ROWS 30

enum {
    SEG_PROCESS,
    SEG_ADDRESS,
    SEG_RESERVED,
    SEG_BLOCKS,
    SEG_USED,
    SEG_REQUESTED,
    SEG_FREE,
    SEG_LARGEST,
    SEG_SITE
};

static const struct table_column segment_columns[] = {
    [SEG_PROCESS] = {"pool", UNIT_TEXT},       [SEG_ADDRESS] = {"address", UNIT_ID, .detail = true},
    [SEG_RESERVED] = {"reserved", UNIT_BYTES}, [SEG_BLOCKS] = {"blocks", UNIT_COUNT},
    [SEG_USED] = {"used", UNIT_BYTES},         [SEG_REQUESTED] = {"requested", UNIT_BYTES},
    [SEG_FREE] = {"free", UNIT_BYTES},         [SEG_LARGEST] = {"largest_free", UNIT_BYTES},
    [SEG_SITE] = {"site", UNIT_TEXT}, /* that has reserved it */
};

struct asking {
    struct tensor_state tensors;
    struct reserves told, found;
    struct space_list spaces;
    struct mappings mapped;
    struct threads *threads;
};

/* ---- rows ---- */

/* NULL: it is none that is there. */
static const struct space_entry *space_of(const struct asked *q)
{
    const struct asking *s = q->state;

    for (size_t i = 0; i < s->spaces.count; i++)
        if (s->spaces.list[i].number == q->options->space)
            return &s->spaces.list[i];
    return NULL;
}

static const char *name_of(struct asked *q, uint64_t process)
{
    const struct heap_process *p = heap_process_of(&q->recorded->heap, process);

    if (q->options->space)
        return space_of(q)->name;
    return p && p->run ? p->run->name : NULL;
}

static int by_free(const void *a, const void *b)
{
    const struct reserve *x = a, *y = b;
    uint64_t of_x = pool_rows_free(x), of_y = pool_rows_free(y);

    of_x = of_x == ABSENT ? 0 : of_x;
    of_y = of_y == ABSENT ? 0 : of_y;
    if (of_x != of_y)
        return of_x > of_y ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void put_segment(struct asked *q, struct table *t, const struct reserve *x)
{
    const struct frames *f = &q->recorded->frames;
    struct table_cell *c = table_add(q->answer, t);

    cell_text(&c[SEG_PROCESS], name_of(q, x->process));
    cell_number(&c[SEG_ADDRESS], x->address);
    cell_number(&c[SEG_RESERVED], x->bytes);
    pool_rows_known(&c[SEG_BLOCKS], x->blocks);
    pool_rows_known(&c[SEG_USED], x->used);
    pool_rows_known(&c[SEG_REQUESTED], x->requested);
    pool_rows_known(&c[SEG_FREE], pool_rows_free(x));
    pool_rows_known(&c[SEG_LARGEST], x->largest_free);
    if (x->stack && x->stack <= f->stack_count) {
        struct table_frame site = frames_site(f, x->stack);

        cell_text(&c[SEG_SITE], table_frame_text(q->answer->arena, &site));
    }
}

static void put_tables(struct asked *q, struct reserves *r)
{
    struct table *pools = pool_rows_table(q->answer);
    struct table *segments = answer_add(q->answer, "segments", TABLE_ROWS, segment_columns,
                                        COUNT(segment_columns));
    size_t most = q->options->rows ? q->options->rows : ROWS;

    pool_rows_put_all(q->answer, pools, &q->recorded->heap,
                      q->options->space ? space_of(q)->name : NULL, r);
    memory_sort(r->list, r->count, sizeof(*r->list), by_free);
    for (size_t i = 0; i < r->count && i < most; i++)
        put_segment(q, segments, &r->list[i]);
    if (r->count > most)
        segments->note = "Those with the most free memory; --limit shows more.";
}

/* ---- facts ---- */

static const char *basis_of(const struct asked *q, const struct asking *s)
{
    const struct heap *h = &q->recorded->heap;

    if (q->options->space)
        return "exact: as the program reports it";
    if (s->told.count)
        return "exact: as the imported file has it";
    if (names_find(q->recorded->run.names, TRACE_OF_RUN, FACT_IMPORTED))
        return "segments exact; the imported file does not tell where blocks are";
    if (!h->sampled)
        return "segments exact; where blocks are was not kept: record with --exact=4K";
    return arena_printf(q->answer->arena, "segments exact; %s: at most so much is free",
                        heap_basis(h, &h->sums.allocated));
}

static void put_facts(struct asked *q, const struct asking *s, struct table *facts,
                      const struct tensors_moment *m)
{
    const struct heap *h = &q->recorded->heap;
    uint64_t time_ns = s->told.count             ? s->told.time_ns
                     : m->moment == HEAP_AT_PEAK ? h->peak_ns
                     : m->moment == HEAP_AT_TIME ? m->time_ns
                                                 : h->to_ns;

    cell_number(table_fact(q->answer, facts, "time", UNIT_NS), time_ns);
    cell_text(table_fact(q->answer, facts, "moment", UNIT_TEXT),
              s->told.count               ? "when the imported file was written"
              : m->moment == HEAP_AT_PEAK ? "the peak"
              : m->moment == HEAP_AT_TIME ? "the time that was asked for"
                                          : "the end");
    cell_text(table_fact(q->answer, facts, "basis", UNIT_TEXT), basis_of(q, s));
    if (!s->told.count && !s->found.count)
        facts->note =
            "No pool is known at this moment. Known are pools of an allocator whose blocks the "
            "program reports with tidemark_alloc, those that it describes to NVTX or MSTX (--space "
            "pool:NAME), and those of PyTorch on devices in its snapshots, which can be imported. "
            "What malloc has reserved is not known; the question resident shows which of its pages "
            "are resident.";
}

/* ---- the question ---- */

static void take_mapping(void *context, const struct trace_event *ev)
{
    struct asking *s = context;

    mapping_read(&s->mapped, s->threads, ev);
}

static void take_pools(void *context, const struct trace_event *ev)
{
    struct asking *s = context;

    reserves_take(&s->told, s->threads, ev);
}

static void take_spaces(void *context, const struct trace_event *ev)
{
    struct asked *q = context;
    struct asking *s = q->state;

    space_list_take(&s->spaces, &q->recorded->names, ev);
    reserves_take_told(&s->found, &s->spaces, s->threads, ev);
}

static uint64_t until(const struct heap *h, const struct tensors_moment *m)
{
    return m->moment == HEAP_AT_PEAK ? h->peak_ns
         : m->moment == HEAP_AT_TIME ? m->time_ns
                                     : UINT64_MAX;
}

static void again(struct asked *q)
{
    struct asking *s = q->state;
    struct recorded *r = q->recorded;
    struct tensors_moment m = tensor_moment(&r->heap, HEAP_AT_PEAK);

    s->threads = &r->threads;
    if (q->options->space)
        recorded_take_again(r, take_spaces, q, until(&r->heap, &m));
    if (!r->heap.any)
        return;
    tensor_want(q, &s->tensors);
    s->tensors.tensors.all = true;
    if (q->options->space)
        return;
    recorded_take_again(r, take_mapping, s, until(&r->heap, &m));
    recorded_take_again(r, take_pools, s, UINT64_MAX);
}

static void answer(struct asked *q, const struct space_entry *pool)
{
    struct asking *s = q->state;
    struct heap *h = &q->recorded->heap;
    struct tensors_moment m = tensor_moment(h, HEAP_AT_PEAK);
    struct table *facts = answer_facts(q->answer, "facts");

    if (!heap_begin(h, q->answer, facts))
        return;
    if (pool)
        reserves_fill_told(&s->found, reserves_space_of(&s->spaces, pool), &s->tensors.tensors, &m);
    else
        reserves_find(&s->found, &s->mapped, &s->tensors.tensors, &m);
    put_facts(q, s, facts, &m);
    put_tables(q, s->told.count ? &s->told : &s->found);
}

static int run(struct asked *q, struct err *err)
{
    struct asking *s = q->state;
    const struct space_entry *pool = q->options->space ? space_of(q) : NULL;
    int status = 0;

    if (!q->options->space || (pool && pool->kind == TRACE_SPACE_POOL))
        answer(q, pool);
    else
        status = err_set(
            err,
            "fragmentation is about pools that a program describes, and this space is not one: "
            "give --space pool:NAME; the question spaces lists them");
    mappings_free(&s->mapped);
    reserves_free(&s->told);
    reserves_free(&s->found);
    tensor_end(&s->tensors);
    return status;
}

const struct question question_fragmentation = {
    .name = "fragmentation",
    .summary = "what pools have reserved, how much of it is used, and how the rest is scattered",
    .group = QUESTION_OF_ALLOCATIONS,
    .about =
        "fragmentation is about memory that allocators hold to hand out: the segments of PyTorch's "
        "pools in imported snapshots, as they were when those were written; with --space pool:NAME "
        "those of a pool that the program tells NVTX or MSTX of; and of a recorded program the "
        "arenas whose blocks are told one by one, at the peak or at --at. Scattered: the free "
        "memory outside the largest piece.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct asking),
    .again = again,
    .run = run,
};
