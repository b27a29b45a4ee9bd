/* question_findings - what deserves a look, with the numbers that prove it and what to do. */
#include "questions/findings.h"
#include "questions/line_cells.h"
#include "questions/question.h"

#include <string.h>

struct asking {
    struct findings findings;
    struct line_sums lines;
};

static void begin(struct asked *q)
{
    findings_begin(&((struct asking *)q->state)->findings, q->recorded);
}

static void again(struct asked *q)
{
    struct asking *s = q->state;

    line_sums_want(&s->lines, q->recorded, q->options, false);
    findings_again(&s->findings);
}

/* In a list each says what to do as well; whose point would stand before the question to ask. */
static void say_whole(struct findings *f, struct arena *a)
{
    for (int i = 0; i < f->count; i++) {
        struct finding *one = &f->list[i];
        size_t length = strlen(one->advice);

        length -= length && one->advice[length - 1] == '.';
        one->what = arena_printf(a, "%s (%s). %.*s", one->evidence, one->confidence, (int)length,
                                 one->advice);
    }
}

static int run(struct asked *q, struct err *err)
{
    struct asking *s = q->state;
    struct answer *a = q->answer;
    struct table *t;

    (void)err;
    line_sums_read(&s->lines);
    line_cells_answer(a, &s->lines);
    findings_read(&s->findings, &s->lines, a);
    say_whole(&s->findings, a->arena);
    t = findings_table(&s->findings, a, FINDINGS_MOST);
    if (!t->rows)
        t->note = "Nothing that deserves a look was found.";
    line_sums_free(&s->lines);
    return 0;
}

const struct question question_findings = {
    .name = "findings",
    .summary = "what deserves a look, with its evidence and what to do",
    .group = QUESTION_OF_TRACE,
    .reads = LINE_SUMS_READS,
    .state = sizeof(struct asking),
    .begin = begin,
    .again = again,
    .run = run,
};
