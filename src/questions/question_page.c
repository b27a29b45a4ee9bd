/* question_page - the data of the report page, for the format html; and how much of it there is. */
#include "base/count.h"
#include "base/memory.h"
#include "model/space_lens.h"
#include "page/page.h"
#include "questions/findings.h"
#include "questions/headline.h"
#include "questions/line_cells.h"
#include "questions/page_tensors.h"
#include "questions/question.h"
#include "questions/space_look.h"

#include <stdlib.h>
#include <string.h>

#define BESIDE_MOST 8 /* spaces whose data a page has besides that of its own */

struct asking {
    struct page page;
    struct findings findings;
    struct line_sums lines;
    struct space_list spaces;
    struct page_tensors tensors;
};

static void take_space(void *context, const struct trace_event *ev)
{
    const struct asked *q = context;
    struct asking *s = q->state;

    space_list_take(&s->spaces, &q->recorded->names, ev);
}

static void begin(struct asked *q)
{
    struct asking *s = q->state;

    page_begin(&s->page, q->recorded, &q->options->finer);
    s->page.beside = q->options->page == SELECTION_PAGE_BESIDE;
    findings_begin(&s->findings, q->recorded);
    recorded_take_first(q->recorded, take_space, q);
    page_tensors_begin(&s->tensors, q);
}

static void again(struct asked *q)
{
    struct asking *s = q->state;

    line_sums_want(&s->lines, q->recorded, q->options, false);
    findings_again(&s->findings);
    page_again(&s->page, &s->lines);
    page_tensors_again(&s->tensors, q, &s->page.edges);
}

static void add_facts(struct answer *a, const struct page *p, size_t bytes)
{
    struct table *t = answer_facts(a, "page");

    cell_number(table_fact(a, t, "edges", UNIT_COUNT), (uint64_t)p->edges.count);
    cell_number(table_fact(a, t, "nodes", UNIT_COUNT), p->shown.node_count);
    cell_number(table_fact(a, t, "leaves", UNIT_COUNT), p->shown.count);
    cell_number(table_fact(a, t, "entries", UNIT_COUNT), p->shown.of[MEASURE_HEAP].count);
    cell_number(table_fact(a, t, "nodes_before_folding", UNIT_COUNT), p->whole.node_count);
    cell_number(table_fact(a, t, "leaves_before_folding", UNIT_COUNT), p->whole.count);
    cell_real(table_fact(a, t, "folded_below", UNIT_REAL), p->folded_below);
    cell_number(table_fact(a, t, "frees_of_known_blocks", UNIT_COUNT), p->entries.pairing.named);
    cell_number(table_fact(a, t, "frees_by_age", UNIT_COUNT), p->entries.pairing.aged);
    cell_number(table_fact(a, t, "frees_by_age_of_several", UNIT_COUNT),
                p->entries.pairing.ambiguous);
    cell_number(table_fact(a, t, "frees_of_unknown_age", UNIT_COUNT), p->entries.pairing.fallback);
    cell_number(table_fact(a, t, "raw", UNIT_BYTES), p->raw_bytes);
    cell_number(table_fact(a, t, "deflated", UNIT_BYTES), bytes);
    t->note = "The format html writes it as a page: report FILE -f html -o report.html.";
}

static int run(struct asked *q, struct err *err);

static void say_space(struct page_space *to, const struct space_seen *seen,
                      const struct heap_edges *curve, struct arena *a)
{
    to->any = seen->any;
    to->peak = seen->peak;
    to->peak_ns = seen->peak_ns;
    to->live = seen->live;
    to->blocks = seen->blocks;
    to->allocated = seen->allocated;
    if (curve && curve->any)
        to->high = memcpy(arena_alloc(a, sizeof(curve->high)), curve->high, sizeof(curve->high));
}

/* The peak and the curve of one space; that of the page has its own curve anyway. */
static void put_space(struct page_space *to, const struct asked *q, uint64_t number)
{
    struct heap_edges *curve;
    struct space_seen seen;

    to->shown = q->options->space == number;
    if (to->shown) {
        seen = space_seen_of(&q->recorded->heap);
        say_space(to, &seen, NULL, q->answer->arena);
        return;
    }
    curve = memory_zeroed(sizeof(*curve));
    seen = space_look(q->recorded->trace, q->options, number, curve);
    say_space(to, &seen, curve, q->answer->arena);
    free(curve);
}

static void keep_data(struct answer_page *to, const struct answer_page *from, struct arena *a)
{
    to->bytes = memcpy(arena_alloc(a, from->count + 1), from->bytes, from->count);
    to->count = from->count;
}

/* The same, and its data: all is asked again, of that space. What fails is not offered. */
static void put_space_beside(struct page_space *to, const struct asked *q, uint64_t number,
                             struct answer_page *data)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .trace = q->answer->trace};
    struct selection o = *q->options;
    struct asking *state = arena_alloc(&arena, sizeof(*state));
    struct recorded r;
    struct asked beside = {&r, &o, &a, state};
    struct space_seen seen;
    struct err err = {0};

    o.space = number;
    o.page = SELECTION_PAGE_BESIDE;
    recorded_open(&r, q->recorded->trace);
    begin(&beside);
    recorded_read(&r, &o, PAGE_READS);
    again(&beside);
    recorded_read_again(&r);
    if (run(&beside, &err) == 0 && r.heap.any)
        keep_data(data, &a.pages[0], q->answer->arena);
    seen = space_seen_of(&r.heap);
    say_space(to, &seen, &state->page.edges, q->answer->arena);
    recorded_close(&r);
    arena_free(&arena);
}

static void put_spaces(struct page_words *w, const struct asked *q)
{
    const struct space_list *l = &((const struct asking *)q->state)->spaces;
    struct arena *a = q->answer->arena;
    struct page_space *to = arena_alloc(a, (l->count + 1) * sizeof(*to));
    struct answer_page *data = arena_alloc(a, (l->count + 1) * sizeof(*data));
    size_t left = q->options->page == SELECTION_PAGE_WITH_SPACES ? BESIDE_MOST : 0;

    if (!l->count)
        return;
    to[0] = (struct page_space){.name = "host", .kind = "host"};
    put_space(&to[0], q, SPACE_HOST);
    for (size_t i = 0; i < l->count; i++) {
        to[1 + i] = (struct page_space){.name = l->list[i].name,
                                        .kind = space_kind(l->list[i].kind)};
        if (left)
            put_space_beside(&to[1 + i], q, l->list[i].number, &data[1 + i]);
        else
            put_space(&to[1 + i], q, l->list[i].number);
        left -= left && data[1 + i].count;
    }
    w->spaces = to;
    w->space_count = l->count + 1;
    q->answer->pages[0].beside = data;
    q->answer->pages[0].beside_count = l->count + 1;
}

/* Where there are spaces beside it, the first leaves them a third of what a page may have. */
static size_t room_of(const struct asked *q)
{
    const struct space_list *l = &((const struct asking *)q->state)->spaces;

    if (q->options->page == SELECTION_PAGE_BESIDE)
        return PAGE_BYTES_MOST / (3 * (l->count < BESIDE_MOST ? l->count + 1 : BESIDE_MOST));
    return q->options->page == SELECTION_PAGE_WITH_SPACES && l->count ? PAGE_BYTES_MOST / 3 * 2
                                                                      : PAGE_BYTES_MOST;
}

static bool is_narrowed(const struct selection *o)
{
    return o->from_ns || o->to_ns || o->born || o->at != SELECTION_AT_DEFAULT;
}

static int run(struct asked *q, struct err *err)
{
    struct asking *s = q->state;
    struct answer *a = q->answer;
    struct page_words words = {.asked = a->asked, .trace = a->trace};
    struct bytes out = {0};
    bool good;

    page_end(&s->page);
    line_sums_read(&s->lines);
    line_cells_answer(a, &s->lines);
    findings_read(&s->findings, &s->lines, a);
    words.findings = findings_emit;
    words.context = &s->findings;
    words.verdicts = s->findings.verdicts;
    words.verdict_count = s->findings.verdict_count;
    words.known_leaks = s->findings.known;
    words.sentence = headline(a->arena, &s->lines);
    words.sources = a->sources;
    words.source_count = a->source_count;
    page_tensors_read(&s->tensors, q);
    words.tensors = s->tensors.any ? page_tensors_emit : NULL;
    words.tensors_context = &s->tensors;
    s->page.most = room_of(q);
    if (!is_narrowed(q->options) && !s->page.beside)
        put_spaces(&words, q);
    good = !is_narrowed(q->options) && page_read(&s->page, &words, &out);
    if (good) {
        add_facts(a, &s->page, out.count);
        a->pages[0].bytes = memcpy(arena_alloc(a->arena, out.count + 1), out.data, out.count);
        a->pages[0].count = out.count;
    }
    bytes_free(&out);
    page_free(&s->page);
    page_tensors_free(&s->tensors);
    line_sums_free(&s->lines);
    if (is_narrowed(q->options))
        return err_set(err, "a page shows the whole recording, and windows of it are chosen there: "
                            "leave out what narrows the report");
    return good ? 0 : err_set(err, "the data of the page cannot be compressed");
}

const struct question question_page = {
    .name = "page",
    .summary = "how large the report page is that -f html writes",
    .group = QUESTION_OF_TRACE,
    .reads = PAGE_READS,
    .state = sizeof(struct asking),
    .begin = begin,
    .again = again,
    .run = run,
};
