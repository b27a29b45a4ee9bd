/* question - the list of what can be asked. */
#include "questions/question.h"

#include "questions/answer_limit.h"
#include "questions/unnamed_answer.h"

#include <string.h>

const struct question *const questions[] = {
#define X(name) &question_##name,
    QUESTIONS(X)
#undef X
        NULL,
};

const struct question_about question_groups[QUESTION_GROUPS] = {
    [QUESTION_OF_TRACE] = {"every trace"},
    [QUESTION_OF_SOURCE] =
        {"the program's source",
         "A cost belongs to the innermost line of Python in one of the program's files, or else to "
         "the innermost line of native code; the cost of a library's threads belongs to the line "
         "that they work for. The program's files are all but those of the interpreter's standard "
         "library and of site-packages or dist-packages; the report says what is left over, and "
         "--all, --only and --exclude choose others."},
    [QUESTION_OF_ALLOCATIONS] = {"allocations"},
    [QUESTION_OF_TENSORS] = {"the tensors of a deep-learning program"},
    [QUESTION_OF_CPU] = {"CPU time"},
    [QUESTION_OF_COPIES] = {"copies"},
    [QUESTION_OF_PROGRAM] = {"what the program says of itself"},
};

const struct question *question_find(const char *name)
{
    for (int i = 0; questions[i]; i++)
        if (strcmp(questions[i]->name, name) == 0)
            return questions[i];
    return NULL;
}

const struct question *question_default(struct trace *t)
{
    const struct question *found = questions[0];
    struct trace_event ev;

    trace_rewind(t, 0, 0); /* definitions alone */
    while (found == questions[0] && trace_next(t, &ev))
        if (ev.kind == TRACE_FRAME && (ev.frame.flavour & 7) == TRACE_FRAME_PYTHON)
            found = &question_lines;
    trace_rewind(t, 0, UINT64_MAX);
    return found;
}

/* What something is for, and how long it was needed, is known by what becomes of it: of a stretch
 * of time the moment that is asked for is found, and the whole recording is read.
 */
static struct selection whole_of(const struct question *q, const struct recorded *r,
                                 const struct selection *o)
{
    struct selection whole = *o;

    whole.finer = (struct selection_finer){o->from_ns,
                                           o->to_ns ? o->to_ns : trace_last_ns(r->trace)};
    whole.from_ns = whole.to_ns = 0;
    if (q->of_moment && (o->over_time || o->at == SELECTION_AT_TIME))
        return whole;
    whole.at = SELECTION_AT_TIME;
    whole.at_ns = whole.finer.to_ns;
    whole.at_peak = !q->of_moment || o->at != SELECTION_AT_END;
    return whole;
}

/* What is read for them. Several together are all of what was asked for. */
static struct selection suit(const struct question *const *list, int count,
                             const struct recorded *r, const struct selection *o)
{
    struct selection suited = *o;

    if (!o->from_ns && !o->to_ns)
        return suited;
    if (count == 1 && list[0]->of_lives)
        return whole_of(list[0], r, o);
    suited.finer = (struct selection_finer){o->from_ns, o->to_ns};
    return suited;
}

/* The moment of a stretch's peak is known once that was read. */
static void read_first(struct recorded *r, struct selection *o, unsigned int reads)
{
    recorded_read(r, o, o->at_peak ? reads | RECORDED_PEAK : reads);
    if (!o->at_peak)
        return;
    o->at_ns = r->peak.time_ns;
    recorded_read(r, o, reads);
}

int question_ask_all(const struct question *const *list, int count, struct recorded *r,
                     const struct selection *o, struct answer *answers, struct err *errs)
{
    struct asked *asked = arena_alloc(answers->arena, (size_t)count * sizeof(*asked));
    struct selection suited = suit(list, count, r, o);
    unsigned int reads = 0;
    int failed = 0;

    for (int i = 0; i < count; i++) {
        void *state = list[i]->state ? arena_alloc(answers[i].arena, list[i]->state) : NULL;

        asked[i] = (struct asked){r, &suited, &answers[i], state};
        answers[i].asked = o->asked;
        reads |= list[i]->reads;
        if (list[i]->begin)
            list[i]->begin(&asked[i]);
    }
    read_first(r, &suited, reads);
    for (int i = 0; i < count; i++)
        if (list[i]->again)
            list[i]->again(&asked[i]);
    recorded_read_again(r);
    for (int i = 0; i < count; i++) {
        failed += list[i]->run(&asked[i], &errs[i]) != 0;
        unnamed_answer(&answers[i], &r->frames);
        answer_limit(&answers[i], r);
    }
    return failed;
}

int question_ask(const struct question *q, struct recorded *r, const struct selection *o,
                 struct answer *a, struct err *err)
{
    return question_ask_all(&q, 1, r, o, a, err) ? -1 : 0;
}
