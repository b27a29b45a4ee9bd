/* question_what_if - by how much the peak of all tensors would fall if some were allocated later,
 * freed earlier, smaller, computed again or kept elsewhere; and which of that, together, fits into
 * a given size.
 */
#include "base/count.h"
#include "base/text.h"
#include "model/what_if_plan.h"
#include "questions/access_answer.h"
#include "questions/heap_cells.h"
#include "questions/tensor_answer.h"

#define ROWS 20

enum { FALL, PERCENT, PEAK_THEN, AT_PEAK, IDEA, KIND, MODULE, LINE, BASIS };

static const struct table_column columns[] = {
    [FALL] = {"fall", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [PEAK_THEN] = {"peak_then", UNIT_BYTES},
    [AT_PEAK] = {"at_peak", UNIT_BYTES, .detail = true},
    [IDEA] = {"idea", UNIT_TEXT},
    [KIND] = {"kind", UNIT_TEXT},
    [MODULE] = {"module", UNIT_TEXT},
    [LINE] = {"line", UNIT_TEXT, .detail = true},
    [BASIS] = {"basis", UNIT_TEXT, .detail = true},
};

struct state {
    struct tensor_state tensors; /* the first: see tensor_want */
    struct access_state accesses;
    struct what_if what_if;
    struct what_if_plan plan;
};

/* ---- words ---- */

static const char *smaller_text(struct asked *q, unsigned int permille)
{
    if (permille == 500)
        return "in half the bytes";
    if (permille == 250)
        return "in a quarter of the bytes";
    return arena_printf(q->answer->arena, "in %g %% of the bytes", permille / 10.0);
}

static const char *idea_text(struct asked *q, const struct what_if_idea *idea)
{
    switch (idea->how) {
    case WHAT_IF_FIRST_USE:
        return "allocated at first use";
    case WHAT_IF_LAST_USE:
        return "freed at last use";
    case WHAT_IF_AFTER_STEP:
        return "freed after the optimizer's step";
    case WHAT_IF_SMALLER:
        return smaller_text(q, idea->permille);
    case WHAT_IF_AGAIN:
        return "computed again for gradients";
    default:
        return idea->kind == TENSOR_OPTIMIZER && !((struct state *)q->state)->what_if.uses
                 ? "elsewhere between steps"
                 : "elsewhere while not in use";
    }
}

/* What a fall is: without all accesses more may be possible; what it costs is not in it. */
static const char *basis_text(const struct state *s, const struct what_if_idea *idea)
{
    switch (idea->how) {
    case WHAT_IF_FIRST_USE:
    case WHAT_IF_LAST_USE:
        return s->what_if.unjudged ? "at least: by the accesses that were told"
                                   : "exact, by accesses";
    case WHAT_IF_AFTER_STEP:
        return "exact, by phases";
    case WHAT_IF_SMALLER:
        return idea->permille < 500 ? "at most: without scales, and if they are float32 now"
                                    : "exact, if they are float32 now";
    case WHAT_IF_AGAIN:
        return "at most: without what computing them takes";
    default:
        return "at most: without what moving them takes";
    }
}

static bool is_bound(const struct what_if_idea *idea)
{
    return idea->how == WHAT_IF_AGAIN || idea->how == WHAT_IF_AWAY ||
           (idea->how == WHAT_IF_SMALLER && idea->permille < 500);
}

static const char *module_text(const struct state *s, const struct what_if_idea *idea)
{
    const char *text = idea->module ? s->what_if.modules.list[idea->module - 1] : NULL;

    return !idea->module ? NULL : text ? text : "(outside of modules)";
}

static const char *line_text(struct asked *q, const struct what_if_idea *idea)
{
    const struct state *s = q->state;

    if (!idea->line)
        return NULL;
    return table_frame_text(q->answer->arena, op_stack_site(s->what_if.lines.from[idea->line - 1]));
}

/* "activations of Net/Block computed again for gradients" */
static const char *doing_text(struct asked *q, const struct what_if_idea *idea)
{
    const char *of = idea->module ? module_text(q->state, idea) : line_text(q, idea);

    return arena_printf(q->answer->arena, "%s%s%s %s", tensor_kind_text(idea->kind),
                        of ? " of " : "", of ? of : "", idea_text(q, idea));
}

/* "a, b and c" */
static const char *plan_text(struct asked *q, const struct what_if_plan *p)
{
    const char *text = "";

    for (size_t i = 0; i < p->together_count; i++)
        text = arena_printf(q->answer->arena, "%s%s%s", text,
                            !i                           ? ""
                            : i + 1 == p->together_count ? " and "
                                                         : ", ",
                            doing_text(q, &p->together[i]));
    return text;
}

/* One sentence that says what to do. */
static const char *verdict(struct asked *q, const struct what_if_plan *p)
{
    char size[TEXT_SIZE], peak[TEXT_SIZE];
    uint64_t limit = q->options->fits_in;
    const char *least = "";

    for (size_t i = 0; i < p->together_count; i++)
        least = is_bound(&p->together[i]) ? " at the least" : least;
    text_size(size, limit);
    text_size(peak, p->peak);
    if (!p->together_count && p->peak <= limit)
        return arena_printf(q->answer->arena, "The tensors fit into %s as they are: %s.", size,
                            peak);
    if (p->peak <= limit)
        return arena_printf(q->answer->arena, "The tensors fit into %s with %s: %s%s.", size,
                            plan_text(q, p), peak, least);
    if (!p->together_count)
        return arena_printf(
            q->answer->arena,
            "The tensors do not fit into %s, and nothing that is known lowers their "
            "peak: %s.",
            size, peak);
    return arena_printf(q->answer->arena,
                        "The tensors do not fit into %s: with %s it is %s%s, and nothing else that "
                        "is known lowers it.",
                        size, plan_text(q, p), peak, least);
}

/* ---- tables ---- */

static void put(struct asked *q, struct table *table, const struct what_if_idea *idea)
{
    const struct state *s = q->state;
    struct table_cell *c = table_add(q->answer, table);

    cell_number(&c[FALL], idea->fall);
    heap_cell_percent(&c[PERCENT], (double)idea->fall, (double)s->what_if.curve.peak);
    cell_number(&c[PEAK_THEN], idea->peak);
    cell_number(&c[AT_PEAK], idea->at_peak);
    cell_text(&c[IDEA], idea_text(q, idea));
    cell_text(&c[KIND], tensor_kind_text(idea->kind));
    cell_text(&c[MODULE], module_text(s, idea));
    cell_text(&c[LINE], line_text(q, idea));
    cell_text(&c[BASIS], basis_text(s, idea));
}

static const char *ideas_note(struct asked *q, const struct state *s)
{
    if (s->accesses.told)
        return "Each by itself, all else unchanged.";
    return arena_printf(
        q->answer->arena, "Each by itself, all else unchanged. %s%s%s",
        "The trace has no accesses, so phases alone tell when activations, gradients and the "
        "optimizer's state are used: 'tidemark record --accesses' tells it of all tensors, and so "
        "which could be allocated at first use, freed at last use or kept elsewhere",
        s->accesses.why ? "; they were asked for, but " : "",
        s->accesses.why ? arena_printf(q->answer->arena, "%s.", s->accesses.why) : ".");
}

/* One module, or one line, has all that there is of a kind: to say so again is no other idea. */
static bool is_of_all(const struct what_if_plan *p, const struct what_if_idea *idea)
{
    for (size_t i = 0; (idea->module || idea->line) && i < p->count; i++) {
        const struct what_if_idea *all = &p->ideas[i];

        if (!all->module && !all->line && all->how == idea->how && all->kind == idea->kind &&
            all->fall == idea->fall && all->at_peak == idea->at_peak)
            return true;
    }
    return false;
}

static void put_ideas(struct asked *q, const struct state *s)
{
    struct table *table = answer_add(q->answer, "ideas", TABLE_ROWS, columns, COUNT(columns));
    uint64_t most = q->options->rows ? q->options->rows : ROWS, shown = 0;

    for (size_t i = 0; i < s->plan.count && shown < most && s->plan.ideas[i].fall; i++) {
        if (is_of_all(&s->plan, &s->plan.ideas[i]))
            continue;
        put(q, table, &s->plan.ideas[i]);
        shown++;
    }
    table->note = ideas_note(q, s);
}

static void put_together(struct asked *q, const struct state *s)
{
    struct table *table = answer_add(q->answer, "together", TABLE_ROWS, columns, COUNT(columns));

    for (size_t i = 0; i < s->plan.together_count; i++)
        put(q, table, &s->plan.together[i]);
    table->note =
        q->options->fits_in
            ? verdict(q, &s->plan)
            : "One after the other, the largest first, until nothing lowers the peak. One that "
              "lowers nothing makes room for the next: the peak is as large elsewhere.";
}

static void put_facts(struct asked *q, const struct state *s, struct table *facts)
{
    struct answer *a = q->answer;
    const struct heap *h = &q->recorded->heap;
    const struct tensor_curve *c = &s->what_if.curve;

    cell_number(table_fact(a, facts, "tensors_peak", UNIT_BYTES), c->peak);
    cell_number(table_fact(a, facts, "time", UNIT_NS), c->edges[c->peak_at].time_ns);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT), heap_basis(h, &h->sums.allocated));
    if (s->accesses.told)
        cell_number(table_fact(a, facts, "accesses", UNIT_COUNT), s->accesses.uses.told);
    if (s->accesses.told && access_note(q, &s->accesses))
        facts->note = access_note(q, &s->accesses);
}

/* ---- the question ---- */

static void answer_it(struct asked *q, struct state *s, struct table *facts)
{
    const struct selection_types *types = q->options->types;

    what_if_start(&s->what_if, &s->tensors.tensors, access_uses(&s->accesses),
                  &q->recorded->moments, q->answer->arena, q->options->finer.from_ns,
                  q->options->finer.to_ns);
    put_facts(q, s, facts);
    what_if_plan_ideas(&s->plan, &s->what_if, types ? types->list : NULL, types ? types->count : 0);
    put_ideas(q, s);
    what_if_plan_together(&s->plan, q->options->fits_in);
    put_together(q, s);
    what_if_plan_free(&s->plan);
    what_if_free(&s->what_if);
}

static void begin(struct asked *q)
{
    access_begin(q, &((struct state *)q->state)->accesses);
}

static void again(struct asked *q)
{
    struct state *s = q->state;

    tensor_want(q, &s->tensors);
    access_want(q, &s->accesses, &s->tensors.tensors);
}

static int run(struct asked *q, struct err *err)
{
    struct state *s = q->state;
    struct table *facts = answer_facts(q->answer, "facts");

    (void)err;
    if (tensor_begin(q, &s->tensors, facts))
        answer_it(q, s, facts);
    uses_free(&s->accesses.uses);
    tensor_end(&s->tensors);
    return 0;
}

const struct question question_what_if = {
    .name = "what-if",
    .summary = "by how much the peak of tensors would fall if they were smaller, freed earlier, "
               "elsewhere ...",
    .group = QUESTION_OF_TENSORS,
    .about =
        "what-if changes lives on paper and looks for the new peak, which may be at another time: tensors that are allocated at their first use, freed at their last one, or elsewhere while not in use, as accesses tell (record --accesses); without these, as phases prove it of activations, gradients and the optimizer's state; activations that are computed again instead of kept; and kinds in the types that suit them, or as --dtype says. Modules and lines have rows of their own. It is about tensors alone. Together: which of these to do, one after the other; with --fits-in, no more of them than it takes until all tensors fit.",
    .reads = RECORDED_HEAP | RECORDED_MOMENTS,
    .of_lives = true,
    .state = sizeof(struct state),
    .begin = begin,
    .again = again,
    .run = run,
};
