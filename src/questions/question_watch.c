/* question_watch - who changed the memory that a program has watched, the first time and every time. */
#include "base/count.h"
#include "model/watches.h"
#include "questions/covered_answer.h"
#include "questions/question.h"

#include <inttypes.h>

#define ROWS 100

enum { NAME, BYTES, FROM, TO, CHANGES, FIRST, FIRST_BY, ENDED };
enum { TIME, CHANGED, BY, SINCE, DECLARED, TID, SITE, STACK };

static const struct table_column columns[] = {
    [NAME] = {"name", UNIT_TEXT},         [BYTES] = {"bytes", UNIT_BYTES},
    [FROM] = {"from", UNIT_NS},           [TO] = {"to", UNIT_NS}, /* absent: to the end */
    [CHANGES] = {"changes", UNIT_COUNT},  [FIRST] = {"first", UNIT_NS},
    [FIRST_BY] = {"first_by", UNIT_TEXT}, [ENDED] = {"ended", UNIT_TEXT},
};

static const struct table_column change_columns[] = {
    [TIME] = {"time", UNIT_NS}, /* of the look */
    [CHANGED] = {"name", UNIT_TEXT},
    [BY] = {"by", UNIT_TEXT},
    [SINCE] = {"after", UNIT_TEXT},
    [DECLARED] = {"declared", UNIT_TEXT},
    [TID] = {"tid", UNIT_ID, .detail = true},
    [SITE] = {"site", UNIT_TEXT},
    [STACK] = {"stack", UNIT_STACK},
};

static const char *text_of(const struct asked *q, uint64_t string)
{
    return names_get(&q->recorded->names, string);
}

static const char *since_text(struct asked *q, const struct watch_change *c)
{
    static const char *const how[] = {[WATCH_SINCE_BEGIN] = "begin of",
                                      [WATCH_SINCE_END] = "end of",
                                      [WATCH_SINCE_MARK] = "mark"};
    const char *name = text_of(q, c->since_name);

    if (c->since == WATCH_SINCE_NOTHING)
        return NULL;
    return arena_printf(q->answer->arena, "%s %s", how[c->since], name ? name : "(no name)");
}

static void put_change(struct asked *q, struct table *t, const struct watches *w,
                       const struct watch_change *x)
{
    static const char *const declared[] = {[WATCH_DECLARED] = "yes", [WATCH_UNDECLARED] = "no"};
    const struct threads_thread *thread = threads_find(&q->recorded->threads, x->thread);
    const struct frames *f = &q->recorded->frames;
    struct table_cell *c = table_add(q->answer, t);

    cell_number(&c[TIME], x->time_ns);
    cell_text(&c[CHANGED], text_of(q, w->blocks[x->block].name));
    cell_text(&c[BY], text_of(q, x->by));
    cell_text(&c[SINCE], since_text(q, x));
    cell_text(&c[DECLARED], declared[x->declared]);
    if (thread && thread->tid)
        cell_number(&c[TID], thread->tid);
    if (x->stack && x->stack <= f->stack_count) {
        struct table_frame site = frames_site(f, x->stack);

        cell_text(&c[SITE], table_frame_text(q->answer->arena, &site));
        cell_stack(&c[STACK], frames_shared(f, x->stack));
    }
}

static void put_block(struct asked *q, struct table *t, const struct watches *w,
                      const struct watch_block *b)
{
    struct table_cell *c = table_add(q->answer, t);

    cell_text(&c[NAME], text_of(q, b->name));
    cell_number(&c[BYTES], b->bytes);
    cell_number(&c[FROM], b->from_ns);
    if (b->to_ns != UINT64_MAX)
        cell_number(&c[TO], b->to_ns);
    cell_number(&c[CHANGES], b->changes);
    if (b->changes) {
        cell_number(&c[FIRST], w->changes[b->first].time_ns);
        cell_text(&c[FIRST_BY], text_of(q, w->changes[b->first].by));
    }
    if (b->gone)
        cell_text(&c[ENDED], "it could not be read");
}

static void put_tables(struct asked *q, const struct watches *w)
{
    struct table *blocks = answer_add(q->answer, "watched", TABLE_ROWS, columns, COUNT(columns));
    struct table *changes = answer_add(q->answer, "changes", TABLE_ROWS, change_columns,
                                       COUNT(change_columns));
    size_t most = q->options->rows ? q->options->rows : ROWS;

    for (size_t i = 0; i < w->block_count; i++)
        put_block(q, blocks, w, &w->blocks[i]);
    for (size_t i = 0; i < w->change_count && i < most; i++)
        put_change(q, changes, w, &w->changes[i]);
    if (!w->block_count)
        blocks->note = "The program has watched nothing: tidemark_watch of include/tidemark.h and "
                       "tidemark.watch of the Python package do.";
    if (w->change_count + w->left_out > most)
        changes->note = arena_printf(q->answer->arena,
                                     "The first of %" PRIu64 "; --limit shows more.",
                                     (uint64_t)w->change_count + w->left_out);
}

static void begin(struct asked *q)
{
    struct watches *w = q->state;

    w->threads = &q->recorded->threads;
    recorded_take_first(q->recorded, watches_take, w);
}

static int run(struct asked *q, struct err *err)
{
    struct watches *w = q->state;

    (void)err;
    covered_answer(q->answer, q->recorded->heap.run);
    put_tables(q, w);
    watches_free(w);
    return 0;
}

const struct question question_watch = {
    .name = "watch",
    .summary = "who changed the memory that the program has watched",
    .group = QUESTION_OF_PROGRAM,
    .about =
        "watch is about memory that the program has named by tidemark_watch or tidemark.watch. It is looked at where regions begin and end, at steps and marks: a change is by the region that was open when it was found, after what was said before it. With tidemark.torch.accesses every operator is a region, and declared says whether it has told that it writes there.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct watches),
    .begin = begin,
    .run = run,
};
