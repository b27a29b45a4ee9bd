/* A recording that is read once for many questions: each answer is the one that it is asked alone,
 * and the trace is passed over no more often than is promised. The makers of traces are beside this
 * program.
 */
#include "check.h"

#include "model/moments.h"
#include "model/process_lens.h"
#include "questions/question.h"
#include "report/formats.h"

#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

#define MS 1000000ull
#define QUESTIONS_ROOM 64
#define PASSES_OF_ONE 2
#define PASSES_OF_ALL 2

static const char *const made[][2] = {
    {"make_heap_trace", "exact"}, {"make_heap_trace", "two"},     {"make_heap_trace", "sampled"},
    {"make_heap_trace", "lossy"}, {"make_lines_trace", "python"}, {"make_lines_trace", "native"},
    {"make_lines_trace", "cpu"},  {"make_lines_trace", "asked"},
};

static const struct selection selections[] = {
    {0},
    {.from_ns = 1500 * MS, .to_ns = 5000 * MS},
    {.at = SELECTION_AT_TIME, .at_ns = 2500 * MS, .rows = 3},
    {.at = SELECTION_AT_PEAK, .temporary = 4, .inverted = true},
    {.at = SELECTION_AT_END},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct trace *make(const char *const what[2])
{
    char self[4096] = "", command[8192], path[64];
    struct err err = {0};
    struct trace *t;

    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return NULL;
    snprintf(path, sizeof(path), "/tmp/tidemark-test-recorded.%d", (int)getpid());
    snprintf(command, sizeof(command), "'%s/%s' %s %s", dirname(self), what[0], what[1], path);
    if (!CHECK_EQ(system(command), 0))
        return NULL;
    t = trace_open(path, &err);
    unlink(path);
    CHECK(t != NULL);
    return t;
}

/* To be freed. */
static char *as_json(const struct answer *a)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    format_find("json")->write(a, out);
    fclose(out);
    return text;
}

struct given {
    int result;
    char *json, *error;
};

static void keep(struct given *g, int result, const struct answer *a, const struct err *err)
{
    *g = (struct given){result, result ? NULL : as_json(a), result ? strdup(err->text) : NULL};
}

static void forget(struct given *g)
{
    free(g->json);
    free(g->error);
}

static struct given ask_alone(struct trace *t, const struct question *q, const struct selection *o)
{
    uint64_t before = trace_passes(t);
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = q->name};
    struct err err = {0};
    struct recorded r;
    struct given g;

    recorded_open(&r, t);
    keep(&g, question_ask(q, &r, o, &a, &err), &a, &err);
    recorded_close(&r);
    arena_free(&arena);
    if (!CHECK(trace_passes(t) - before <= PASSES_OF_ONE))
        printf("#   %s: %d passes\n", q->name, (int)(trace_passes(t) - before));
    return g;
}

static void check_same(const struct given *alone, const struct given *other, const char *question)
{
    const char *a = alone->result ? alone->error : alone->json;
    const char *b = other->result ? other->error : other->json;
    size_t at = 0;

    if (CHECK_EQ(alone->result, other->result) && CHECK(strcmp(a, b) == 0))
        return;
    while (a[at] && a[at] == b[at])
        at++;
    printf("#   %s: ...%.80s\n#   not ...%.80s\n", question, a + (at < 40 ? 0 : at - 40),
           b + (at < 40 ? 0 : at - 40));
}

/* All at once, and then each of the same recording once more. */
static void ask_all(struct trace *t, const struct selection *o, const struct given *alone,
                    int count)
{
    struct answer answers[QUESTIONS_ROOM] = {0};
    struct err errs[QUESTIONS_ROOM] = {0};
    uint64_t before = trace_passes(t);
    struct arena arena = {0};
    struct recorded r;
    struct given g;

    recorded_open(&r, t);
    for (int i = 0; i < count; i++)
        answers[i] = (struct answer){.arena = &arena, .question = questions[i]->name};
    question_ask_all(questions, count, &r, o, answers, errs);
    CHECK(trace_passes(t) - before <= PASSES_OF_ALL);
    for (int i = 0; i < count; i++) {
        keep(&g, *errs[i].text ? -1 : 0, &answers[i], &errs[i]);
        check_same(&alone[i], &g, questions[i]->name);
        forget(&g);
    }
    for (int i = 0; i < count; i++) {
        struct answer a = {.arena = &arena, .question = questions[i]->name};
        struct err err = {0};

        keep(&g, question_ask(questions[i], &r, o, &a, &err), &a, &err);
        check_same(&alone[i], &g, questions[i]->name);
        forget(&g);
    }
    recorded_close(&r);
    arena_free(&arena);
}

static void test_all_questions(void)
{
    struct given alone[QUESTIONS_ROOM];
    int count = 0;

    while (questions[count])
        count++;
    for (size_t m = 0; m < COUNT(made); m++) {
        struct trace *t = make(made[m]);

        for (size_t s = 0; t && s < COUNT(selections); s++) {
            for (int i = 0; i < count; i++)
                alone[i] = ask_alone(t, questions[i], &selections[s]);
            ask_all(t, &selections[s], alone, count);
            for (int i = 0; i < count; i++)
                forget(&alone[i]);
        }
        trace_close(t);
    }
}

static void test_models_are_read_once(void)
{
    struct trace *t = make(made[0]);
    struct recorded r;
    uint64_t before;

    if (!t)
        return;
    before = trace_passes(t);
    recorded_open(&r, t);
    recorded_read(&r, &(struct selection){0}, RECORDED_HEAP | RECORDED_CPU);
    recorded_read(&r, &(struct selection){.rows = 7}, RECORDED_HEAP | RECORDED_RUN);
    CHECK_EQ(trace_passes(t) - before, 1);
    CHECK_EQ(r.heap.options.rows, 7);
    recorded_read_again(&r); /* nobody wants it */
    CHECK_EQ(trace_passes(t) - before, 1);
    recorded_read(&r, &(struct selection){.to_ns = 2000 * MS}, RECORDED_HEAP);
    CHECK_EQ(trace_passes(t) - before, 2); /* another stretch */
    CHECK(r.heap.to_ns <= 2000 * MS);
    CHECK_EQ(r.threads.count, 2);
    recorded_close(&r);
    trace_close(t);
}

/* What a question is narrowed to by name has to be found first. */
static void test_narrowing_takes_one_pass_each(void)
{
    struct trace *t = make(made[1]);
    struct process_lens one, ranked;
    struct moments moments = {0};
    struct arena arena = {0};
    uint64_t before;

    if (!t)
        return;
    before = trace_passes(t);
    process_lens_read(&one, t, 1);
    CHECK_EQ(trace_passes(t) - before, 1);
    CHECK(!process_lens_read_rank(&ranked, t, &arena, 0));
    CHECK_EQ(trace_passes(t) - before, 2);
    moments_read(&moments, t, &arena, NULL);
    CHECK_EQ(trace_passes(t) - before, 3);
    moments_free(&moments);
    process_lens_free(&one);
    process_lens_free(&ranked);
    arena_free(&arena);
    trace_close(t);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"all questions of one recording, and each alone", test_all_questions},
        {"models are read once", test_models_are_read_once},
        {"moments, a process and a rank are found in a pass each",
         test_narrowing_takes_one_pass_each},
    };

    return check_run(tests, COUNT(tests));
}
