/* question_page - the data of the report page, for the format html; and how much of it there is. */
#include "base/count.h"
#include "page/page.h"
#include "questions/findings.h"
#include "questions/headline.h"
#include "questions/line_cells.h"
#include "questions/question.h"

#include <string.h>

struct asking {
    struct page page;
    struct findings findings;
    struct line_sums lines;
};

static void begin(struct asked *q)
{
    struct asking *s = q->state;

    page_begin(&s->page, q->recorded, &q->options->finer);
    findings_begin(&s->findings, q->recorded);
}

static void again(struct asked *q)
{
    struct asking *s = q->state;

    line_sums_want(&s->lines, q->recorded, q->options, false);
    findings_again(&s->findings);
    page_again(&s->page, &s->lines);
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

    line_sums_read(&s->lines);
    line_cells_answer(a, &s->lines);
    findings_read(&s->findings, &s->lines, a);
    words.findings = findings_emit;
    words.context = &s->findings;
    words.verdicts = s->findings.verdicts;
    words.verdict_count = s->findings.verdict_count;
    words.known_leaks = s->findings.known;
    words.sentence = headline(a->arena, &q->recorded->heap);
    words.sources = a->sources;
    words.source_count = a->source_count;
    good = !is_narrowed(q->options) && page_read(&s->page, &words, &out);
    if (good) {
        add_facts(a, &s->page, out.count);
        a->pages[0].bytes = memcpy(arena_alloc(a->arena, out.count + 1), out.data, out.count);
        a->pages[0].count = out.count;
    }
    bytes_free(&out);
    page_free(&s->page);
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
