/* question_events - every allocation and free, one by one. */
#include "base/count.h"
#include "base/text.h"
#include "model/allowed.h"
#include "model/heap_events.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_MOST ((uint64_t)1 << 22)

enum {
    TIME,
    EVENT,
    BYTES,
    LIVE,
    BLOCK,
    ADDRESS,
    PROCESS,
    PID,
    DEVICE,
    TID,
    SITE,
    STACK,
};
enum { STACK_NUMBER, STACK_STACK };

static const struct table_column columns[] = {
    [TIME] = {"time", UNIT_NS},
    [EVENT] = {"event", UNIT_TEXT},
    [BYTES] = {"bytes", UNIT_BYTES},
    [LIVE] = {"live", UNIT_BYTES}, /* of its process, afterwards */
    [BLOCK] = {"block", UNIT_ID},
    [ADDRESS] = {"address", UNIT_ID, .detail = true},
    [PROCESS] = {"process", UNIT_ID, .detail = true}, /* in the trace */
    [PID] = {"pid", UNIT_ID},
    [DEVICE] = {"device", UNIT_ID, .detail = true},
    [TID] = {"tid", UNIT_ID, .detail = true},
    [SITE] = {"site", UNIT_TEXT},
    [STACK] = {"stack", UNIT_ID, .detail = true}, /* in the table below */
};

/* Each once: a million events come from a few stacks, which may be deep. */
static const struct table_column stack_columns[] = {
    [STACK_NUMBER] = {"number", UNIT_ID},
    [STACK_STACK] = {"stack", UNIT_STACK},
};

struct asking {
    struct asked *asked;
    struct heap_events events;
    struct table *facts, *table, *stacks;
    struct intmap devices; /* by process: 1 + which */
    struct intmap known;   /* by stack: its row among those, from 1 */
    const char **sites;    /* by row */
    size_t site_room;
    uint64_t rows, left_out, from_ns, to_ns, most;
};

/* A process that is what a program has on one device. */
static void take_fact(struct asking *s, const struct trace_event *ev)
{
    const struct names *n = &s->asked->recorded->names;
    char text[24];
    const char *key;
    uint64_t device;

    if (ev->kind != TRACE_FACT || ev->fact.subject != TRACE_OF_PROCESS ||
        ev->tail_bytes >= sizeof(text))
        return;
    key = names_get(n, ev->fact.key);
    if (!key || strcmp(key, FACT_DEVICE) != 0)
        return;
    memcpy(text, ev->tail, ev->tail_bytes);
    text[ev->tail_bytes] = '\0';
    if (text_parse_number(text, &device))
        intmap_put(&s->devices, ev->fact.id, device + 1);
}

/* Facts stand before the events of whom they are about. */
static void take_record(void *context, const struct trace_event *ev)
{
    struct asking *s = context;

    take_fact(s, ev);
    heap_events_record(&s->events, ev);
}

/* ---- rows ---- */

static uint64_t row_of(struct asking *s, uint64_t stack)
{
    const struct frames *f = s->asked->recorded->heap.frames;
    struct table_frame site;
    struct table_cell *c;
    uint64_t row;

    if (intmap_get(&s->known, stack, &row))
        return row;
    site = frames_site(f, stack);
    c = table_add(s->asked->answer, s->stacks);
    row = (uint64_t)s->stacks->rows;
    cell_number(&c[STACK_NUMBER], row);
    cell_stack(&c[STACK_STACK], frames_shared(f, stack));
    memory_fit(s->sites, s->site_room, row);
    s->sites[row - 1] = table_frame_text(s->asked->answer->arena, &site);
    intmap_put(&s->known, stack, row);
    return row;
}

static void fill_who(struct asking *s, struct table_cell *c, const struct heap_event *e)
{
    const struct threads_thread *t = threads_find(&s->asked->recorded->threads, e->thread);
    uint64_t device;

    cell_number(&c[PROCESS], e->process->number);
    if (e->process->run && e->process->run->pid)
        cell_number(&c[PID], e->process->run->pid);
    if (intmap_get(&s->devices, e->process->number, &device))
        cell_number(&c[DEVICE], device - 1);
    if (t && t->tid)
        cell_number(&c[TID], t->tid);
}

static void take(void *context, const struct heap_event *e)
{
    struct asking *s = context;
    struct table_cell *c;

    if (e->time_ns < s->from_ns || e->time_ns > s->to_ns)
        return;
    if (s->rows == s->most) {
        s->left_out++;
        return;
    }
    s->rows++;
    c = table_add(s->asked->answer, s->table);
    cell_number(&c[TIME], e->time_ns);
    cell_text(&c[EVENT], e->freed ? "free" : "alloc");
    cell_number(&c[BYTES], e->bytes);
    cell_number(&c[LIVE], e->live);
    cell_number(&c[BLOCK], e->block);
    if (e->address)
        cell_number(&c[ADDRESS], e->address);
    fill_who(s, c, e);
    if (e->stack) {
        uint64_t row = row_of(s, e->stack);

        cell_number(&c[STACK], row);
        cell_text(&c[SITE], s->sites[row - 1]);
    }
}

/* ---- the whole ---- */

static void again(struct asked *q)
{
    struct asking *s = q->state;
    const struct selection *o = q->options;

    s->asked = q;
    s->from_ns = o->from_ns;
    s->to_ns = o->to_ns ? o->to_ns : UINT64_MAX;
    s->most = ALLOWED_THINGS(q->recorded->names.file_bytes);
    s->most = s->most < ROWS_MOST ? s->most : ROWS_MOST;
    s->most = o->rows && o->rows < s->most ? o->rows : s->most;
    heap_events_start(&s->events, &q->recorded->heap, trace_last_ns(q->recorded->trace), take, s);
    recorded_take_again(q->recorded, take_record, s, UINT64_MAX);
    s->facts = answer_facts(q->answer, "facts");
    s->table = answer_add(q->answer, "events", TABLE_ROWS, columns, COUNT(columns));
    s->stacks = answer_add(q->answer, "stacks", TABLE_ROWS, stack_columns, COUNT(stack_columns));
}

static void add_facts(struct asking *s)
{
    struct table *facts = s->facts;
    struct answer *a = s->asked->answer;
    const struct heap *h = &s->asked->recorded->heap;

    cell_number(table_fact(a, facts, "started", UNIT_MOMENT), h->run->header->real_ns);
    heap_cell_bytes(table_fact(a, facts, "allocated", UNIT_BYTES), &h->sums.allocated);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT), heap_basis(h, &h->sums.allocated));
    cell_number(table_fact(a, facts, "events", UNIT_COUNT), s->rows);
    cell_number(table_fact(a, facts, "events_left_out", UNIT_COUNT), s->left_out);
}

static int run(struct asked *q, struct err *err)
{
    struct asking *s = q->state;
    struct answer *a = q->answer;

    (void)err;
    heap_events_end(&s->events);
    if (heap_begin(&q->recorded->heap, a, s->table))
        add_facts(s);
    intmap_free(&s->devices);
    intmap_free(&s->known);
    free(s->sites);
    return 0;
}

const struct question question_events = {
    .name = "events",
    .summary = "every allocation and free, one by one",
    .group = QUESTION_OF_ALLOCATIONS,
    .about =
        "events lists every one, unless --limit says otherwise; it is meant for other programs (-f csv, -f torch-snapshot, -f memscope) rather than for reading. A sampled block stands for several, and its bytes are theirs; where nothing tells blocks of one size and stack apart, the one that is freed is the oldest.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct asking),
    .again = again,
    .run = run,
};
