/* question_watch - who wrote to the memory that a program has watched and who changed it, the first
 * time and every time.
 *
 * Writes are met where they are made; changes are found later, by looks. Neither says less than it
 * knows: a write may leave what was there, and a change may be of bytes whose page was not guarded.
 */
#include "base/count.h"
#include "model/op_stacks.h"
#include "model/watch_join.h"
#include "model/watch_looks.h"
#include "questions/covered_answer.h"
#include "questions/question.h"
#include "questions/watch_dead.h"
#include "questions/watch_unmet.h"

#include <inttypes.h>

#define ROWS 100

enum { NAME, BYTES, FROM, TO, WRITES, CHANGES, FIRST, FIRST_BY, COMMANDS, UNKNOWN, ENDED, LOOKED };
enum {
    W_TIME,
    W_NAME,
    W_OP,
    W_INSTRUCTION,
    W_OFFSET,
    W_TO,
    W_TIMES,
    W_DECLARED,
    W_BY,
    W_SINCE,
    W_TID,
    W_SITE,
    W_STACK
};
enum { TIME, CHANGED, BY, SINCE, DECLARED, TID, SITE, STACK };

static const struct table_column columns[] = {
    [NAME] = {"name", UNIT_TEXT},
    [BYTES] = {"bytes", UNIT_BYTES},
    [FROM] = {"from", UNIT_NS},
    [TO] = {"to", UNIT_NS},              /* absent: to the end */
    [WRITES] = {"writes", UNIT_COUNT},   /* absent: nobody would have met them */
    [CHANGES] = {"changes", UNIT_COUNT}, /* absent: no look could be made */
    [FIRST] = {"first", UNIT_NS},
    [FIRST_BY] = {"first_by", UNIT_TEXT},
    [COMMANDS] = {"commands", UNIT_COUNT}, /* of a device, that may have written there */
    [UNKNOWN] = {"unknown", UNIT_COUNT}, /* of how many it is not known, as it could not be read */
    [ENDED] = {"ended", UNIT_TEXT},
    [LOOKED] = {"looked_at_only", UNIT_TEXT}, /* why */
};

static const struct table_column write_columns[] = {
    [W_TIME] = {"time", UNIT_NS}, /* of the first */
    [W_NAME] = {"name", UNIT_TEXT},
    [W_OP] = {"op", UNIT_TEXT},
    [W_INSTRUCTION] = {"instruction", UNIT_TEXT},
    [W_OFFSET] = {"offset", UNIT_COUNT},
    [W_TO] = {"to", UNIT_COUNT},
    [W_TIMES] = {"times", UNIT_COUNT},
    [W_DECLARED] = {"declared", UNIT_TEXT},
    [W_BY] = {"by", UNIT_TEXT, .detail = true},
    [W_SINCE] = {"after", UNIT_TEXT, .detail = true},
    [W_TID] = {"tid", UNIT_ID, .detail = true},
    [W_SITE] = {"site", UNIT_TEXT},
    [W_STACK] = {"stack", UNIT_STACK},
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

struct watch_state {
    struct watches watches;
    struct watch_unmet unmet;
    struct op_stacks stacks;
};

static const char *const declared[] = {[WATCH_DECLARED] = "yes", [WATCH_UNDECLARED] = "no"};

static const char *text_of(const struct asked *q, uint64_t string)
{
    return names_get(&q->recorded->names, string);
}

static const char *since_text(struct asked *q, enum watch_since since, uint64_t since_name)
{
    static const char *const how[] = {[WATCH_SINCE_BEGIN] = "begin of",
                                      [WATCH_SINCE_END] = "end of",
                                      [WATCH_SINCE_MARK] = "mark"};
    const char *name = text_of(q, since_name);

    if (since == WATCH_SINCE_NOTHING)
        return NULL;
    return arena_printf(q->answer->arena, "%s %s", how[since], name ? name : "(no name)");
}

static void put_thread(const struct asked *q, struct table_cell *c, uint64_t number)
{
    const struct threads_thread *thread = threads_find(&q->recorded->threads, number);

    if (thread && thread->tid)
        cell_number(c, thread->tid);
}

static bool has_stack(const struct asked *q, uint64_t stack)
{
    return stack && stack <= q->recorded->frames.stack_count;
}

/* ---- writes ---- */

/* The code that wrote, or the call by which the kernel did. */
static const char *instruction_text(struct asked *q, const struct watch_write *x)
{
    const struct frames *f = &q->recorded->frames;
    const char *call = text_of(q, x->call);
    struct table_frame frame;
    const char *text;

    if (!has_stack(q, x->stack))
        return call;
    frames_expand(f, f->stacks[x->stack].frame, &frame, 1);
    text = table_frame_text(q->answer->arena, &frame);
    return call ? arena_printf(q->answer->arena, "%s, called in %s", call, text) : text;
}

/* By what the operator has told of its accesses, else by its name. */
static const char *declared_text(const struct watch_write *x, const char *op)
{
    enum op_writes by_name = op_rules_writes(op);

    if (x->declared != WATCH_UNKNOWN)
        return declared[x->declared];
    return by_name == OP_WRITES_DECLARED ? "yes" : by_name == OP_WRITES_NOTHING ? "no" : NULL;
}

static void put_write(struct asked *q, struct table *t, struct watch_state *s,
                      const struct watch_write *x)
{
    const struct frames *f = &q->recorded->frames;
    const char *op = op_stacks_get(&s->stacks, has_stack(q, x->stack) ? x->stack : 0)->op;
    struct table_cell *c = table_add(q->answer, t);

    cell_number(&c[W_TIME], x->time_ns);
    cell_text(&c[W_NAME], text_of(q, s->watches.blocks[x->block].name));
    cell_text(&c[W_OP], op);
    cell_text(&c[W_INSTRUCTION], instruction_text(q, x));
    cell_number(&c[W_OFFSET], x->from);
    cell_number(&c[W_TO], x->to);
    cell_number(&c[W_TIMES], x->times);
    cell_text(&c[W_DECLARED], declared_text(x, op));
    cell_text(&c[W_BY], text_of(q, x->by));
    cell_text(&c[W_SINCE], since_text(q, x->since, x->since_name));
    put_thread(q, &c[W_TID], x->thread);
    if (has_stack(q, x->stack)) {
        struct table_frame site = frames_site(f, x->stack);

        cell_text(&c[W_SITE], table_frame_text(q->answer->arena, &site));
        cell_stack(&c[W_STACK], frames_shared(f, x->stack));
    }
}

/* ---- changes ---- */

/* A region; or the command of a device, as far as that is known. */
static const char *by_text(struct asked *q, const struct watch_change *x)
{
    const char *name = text_of(q, x->by);

    if (!x->beside || !name)
        return name;
    return arena_printf(q->answer->arena, "%s, or one beside or before it", name);
}

static void put_change(struct asked *q, struct table *t, const struct watches *w,
                       const struct watch_change *x)
{
    const struct frames *f = &q->recorded->frames;
    struct table_cell *c = table_add(q->answer, t);

    cell_number(&c[TIME], x->time_ns);
    cell_text(&c[CHANGED], text_of(q, w->blocks[x->block].name));
    cell_text(&c[BY], by_text(q, x));
    cell_text(&c[SINCE], since_text(q, x->since, x->since_name));
    cell_text(&c[DECLARED], declared[x->declared]);
    put_thread(q, &c[TID], x->thread);
    if (has_stack(q, x->stack)) {
        struct table_frame site = frames_site(f, x->stack);

        cell_text(&c[SITE], table_frame_text(q->answer->arena, &site));
        cell_stack(&c[STACK], frames_shared(f, x->stack));
    }
}

/* ---- blocks ---- */

static const char *ended_text(uint64_t kind)
{
    switch (kind) {
    case TRACE_WATCH_GONE:
        return "it could not be read";
    case TRACE_WATCH_FREED:
        return "it was freed";
    case TRACE_WATCH_NO_ROOM:
        return "not watched: 64 others were";
    case TRACE_WATCH_NO_SLOT:
        return "not watched: 16 others of devices were";
    case TRACE_WATCH_UNKNOWN:
        return "not watched: no buffer of OpenCL that was recorded; record with --accesses";
    default:
        return NULL;
    }
}

static const char *looked_text(uint64_t why)
{
    static const char *const texts[] = {
        [TRACE_WATCH_UNASKED] = "as asked for",
        [TRACE_WATCH_SMALL] = "no page lies wholly in it",
        [TRACE_WATCH_STACK] = "it is on a stack",
        [TRACE_WATCH_READ_ONLY] = "it cannot be written",
        [TRACE_WATCH_KERNEL] = "the kernel does not let its pages be guarded",
        [TRACE_WATCH_MASKED] = "a thread had blocked SIGSEGV",
        [TRACE_WATCH_RING] = "the program uses io_uring or asynchronous reads",
        [TRACE_WATCH_TAKEN] = "the program has changed its rights, or gave it to the kernel",
        [TRACE_WATCH_SIGNALS] = "the handler of SIGSEGV was replaced by a system call",
        [TRACE_WATCH_DEVICE] = "it is on a device",
    };

    return why < COUNT(texts) ? texts[why] : "for another reason";
}

/* Whoever was first: a write, which is met when it is made, or a change that was found. */
static void put_first(struct asked *q, struct table_cell *c, struct watch_state *s,
                      const struct watch_block *b)
{
    const struct watches *w = &s->watches;
    const struct watch_change *change = b->changes ? &w->changes[b->first] : NULL;
    const struct watch_write *write = b->writes ? &w->writes[b->first_write] : NULL;
    const char *op;

    if (write && (!change || write->time_ns <= change->time_ns)) {
        op = op_stacks_get(&s->stacks, has_stack(q, write->stack) ? write->stack : 0)->op;
        cell_number(&c[FIRST], write->time_ns);
        cell_text(&c[FIRST_BY], write->by ? text_of(q, write->by)
                                : op      ? op
                                          : instruction_text(q, write));
    } else if (change) {
        cell_number(&c[FIRST], change->time_ns);
        cell_text(&c[FIRST_BY], by_text(q, change));
    }
}

static void put_block(struct asked *q, struct table *t, struct watch_state *s,
                      const struct watch_block *b)
{
    struct table_cell *c = table_add(q->answer, t);

    cell_text(&c[NAME], text_of(q, b->name));
    cell_number(&c[BYTES], b->bytes);
    cell_number(&c[FROM], b->from_ns);
    if (b->to_ns != UINT64_MAX)
        cell_number(&c[TO], b->to_ns);
    if ((!b->why && b->from_ns != b->to_ns) || b->writes)
        cell_number(&c[WRITES], b->writes + b->untold);
    if (!b->unknown || b->unknown < b->commands || b->changes)
        cell_number(&c[CHANGES], b->changes);
    put_first(q, c, s, b);
    if (b->why == TRACE_WATCH_DEVICE) {
        cell_number(&c[COMMANDS], b->commands);
        cell_number(&c[UNKNOWN], b->unknown);
    }
    cell_text(&c[ENDED], b->dead ? "it was freed before it was watched" : ended_text(b->ended));
    if (b->why)
        cell_text(&c[LOOKED], looked_text(b->why));
}

/* ---- all of it ---- */

static uint64_t untold(const struct watches *w)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < w->block_count; i++)
        sum += w->blocks[i].untold;
    return sum;
}

static uint64_t unknown(const struct watches *w)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < w->block_count; i++)
        sum += w->blocks[i].unknown;
    return sum;
}

static void put_blocks(struct asked *q, struct watch_state *s)
{
    struct table *t = answer_add(q->answer, "watched", TABLE_ROWS, columns, COUNT(columns));
    const struct watches *w = &s->watches;

    for (size_t i = 0; i < w->block_count; i++)
        put_block(q, t, s, &w->blocks[i]);
    t->note = watch_unmet_note(q, &s->unmet, w);
    if (!t->note)
        t->note = watch_dead_note(q, w);
    if (!t->note && unknown(w))
        t->note =
            "Where unknown is not 0, the content could not be read before or after so many "
            "commands: what they changed is shown with the next one after which it could be, if "
            "there is one.";
    if (!w->block_count && !t->note)
        t->note = "The program has watched nothing: tidemark_watch of include/tidemark.h, "
                  "tidemark.watch of the Python package and record --watch do.";
}

static const char *first_of(struct asked *q, uint64_t all)
{
    return arena_printf(q->answer->arena, "The first of %" PRIu64 "; --limit shows more.", all);
}

static void put_writes(struct asked *q, struct watch_state *s, size_t most)
{
    struct table *t = answer_add(q->answer, "writes", TABLE_ROWS, write_columns,
                                 COUNT(write_columns));
    const struct watches *w = &s->watches;

    for (size_t i = 0; i < w->write_count && i < most; i++)
        put_write(q, t, s, &w->writes[i]);
    if (w->write_count > most)
        t->note = first_of(q, w->write_count);
    else if (untold(w))
        t->note = arena_printf(q->answer->arena,
                               "%" PRIu64 " more writes were caught, but have no row: only "
                               "the first 10,000 to a block have one.",
                               untold(w));
}

static void put_changes(struct asked *q, struct watch_state *s, size_t most)
{
    struct table *t = answer_add(q->answer, "changes", TABLE_ROWS, change_columns,
                                 COUNT(change_columns));
    const struct watches *w = &s->watches;

    for (size_t i = 0; i < w->change_count && i < most; i++)
        put_change(q, t, w, &w->changes[i]);
    if (w->change_count + w->left_out > most)
        t->note = first_of(q, w->change_count + w->left_out);
}

static void begin(struct asked *q)
{
    struct watch_state *s = q->state;

    s->watches.threads = &q->recorded->threads;
    s->unmet.names = &q->recorded->names;
    recorded_take_first(q->recorded, watches_take, &s->watches);
    recorded_take_first(q->recorded, watch_unmet_take, &s->unmet);
}

static int run(struct asked *q, struct err *err)
{
    struct watch_state *s = q->state;
    size_t most = q->options->rows ? q->options->rows : ROWS;

    (void)err;
    covered_answer(q->answer, q->recorded->heap.run);
    watch_join(&s->watches, &q->recorded->frames);
    watch_looks_join(&s->watches);
    op_stacks_start(&s->stacks, &q->recorded->frames, &q->recorded->arena);
    put_blocks(q, s);
    put_writes(q, s, most);
    put_changes(q, s, most);
    op_stacks_free(&s->stacks);
    watches_free(&s->watches);
    return 0;
}

const struct question question_watch = {
    .name = "watch",
    .summary = "who wrote to the memory that is watched",
    .group = QUESTION_OF_PROGRAM,
    .about =
        "watch is about memory that the program has named by tidemark_watch or tidemark.watch, and "
        "tensors that record --watch has named. A buffer of OpenCL (tidemark_watch_opencl) is read "
        "back after each kernel and command that may write to it, and changes has those after "
        "which its hash was another, with declared by what the kernel says of its argument. A "
        "write to a page that lies wholly in it is caught as it happens: writes has the operator, "
        "the function and the line, the first byte and the last one that is known, and declared, "
        "which says whether the operator's schema declares a write, by what it has told "
        "(tidemark.torch.accesses) or by the rule of its name. Writes that follow each other from "
        "one place are one row; a page is open for two milliseconds after its first ones, so not "
        "all are caught. Besides, all of it is looked at where regions begin and end, at steps and "
        "marks: changes has what was found so, by the region that was open, after what was said "
        "before it.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct watch_state),
    .begin = begin,
    .run = run,
};
