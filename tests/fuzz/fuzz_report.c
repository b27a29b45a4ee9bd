/* fuzz_report - any bytes as a trace, and every question asked of it in every format, of all of it
 * and of a stretch, and compared with another: no crash, no growth, and no answer that is larger
 * than the size of the trace allows.
 */
#define REPLAY_MUTATE mutate_trace
#include "mutate.h"
#include "replay.h"

#include "model/allowed.h"
#include "model/moment_find.h"
#include "model/scope.h"
#include "questions/diff.h"
#include "report/formats.h"

#include <stdio.h>
#include <string.h>

#define QUESTIONS_MOST 64
#define EVERY_ROW_MOST (256u << 10) /* bytes of a trace whose rows are all written */

static uint64_t answer_most; /* bytes, of this input */

/* What was written since the answer began; nothing is kept. */
static ssize_t count_bytes(void *cookie, const char *data, size_t size)
{
    size_t *written = cookie;

    (void)data;
    *written += size;
    if (*written > answer_most)
        abort();
    return (ssize_t)size;
}

/* A format that asks by itself is dear (png), and has nothing to say of what it would not ask. */
static bool takes(const struct format *f, const char *question)
{
    if (f->question)
        return strcmp(f->question, question) == 0;
    for (const char *const *asked = f->asks; asked && *asked; asked++)
        if (strcmp(*asked, question) == 0)
            return true;
    return !f->asks;
}

static void write_all(const struct answer *a)
{
    for (int i = 0; formats[i]; i++) {
        size_t written = 0;
        FILE *out;

        if (!takes(formats[i], a->question))
            continue;
        out = fopencookie(&written, "w", (cookie_io_functions_t){.write = count_bytes});
        if (!out)
            abort();
        formats[i]->write(a, out);
        fclose(out);
    }
}

static void ask(struct trace *t, const struct question *q, const struct selection *o)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = q->name};
    struct recorded r;
    struct err err;

    recorded_open(&r, t);
    if (question_ask(q, &r, o, &a, &err) == 0)
        write_all(&a);
    recorded_close(&r);
    arena_free(&arena);
}

/* All questions of one recording, which is read as often as for one. */
static void ask_all(struct trace *t, const struct selection *o)
{
    struct arena arena = {0};
    struct answer answers[QUESTIONS_MOST] = {0};
    struct err errs[QUESTIONS_MOST] = {0};
    struct recorded r;
    int count = 0;

    for (; count < QUESTIONS_MOST && questions[count]; count++)
        answers[count] = (struct answer){.arena = &arena, .question = questions[count]->name};
    recorded_open(&r, t);
    question_ask_all(questions, count, &r, o, answers, errs);
    for (int i = 0; i < count; i++)
        write_all(&answers[i]);
    recorded_close(&r);
    arena_free(&arena);
}

static void compare_moments(struct trace *t, const struct selection *o)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = "diff"};
    struct recorded r;
    struct err err;

    recorded_open(&r, t);
    if (diff_moments(&r, o, &a, &err) == 0)
        write_all(&a);
    recorded_close(&r);
    arena_free(&arena);
}

/* With the same trace, cut: much is the same, and something is missing. */
static void compare_traces(struct trace *t, const uint8_t *data, size_t size,
                           const struct selection *o)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = "diff"};
    struct recorded r, other_r;
    struct err err;
    struct trace *other = trace_open_bytes(data, size - size / 3, "cut", &err);

    if (!other)
        return;
    recorded_open(&r, t);
    recorded_open(&other_r, other);
    if (diff_traces(&r, &other_r, (enum diff_by)(size % 3), (struct selection[2]){*o, *o}, &a,
                    &err) == 0)
        write_all(&a);
    recorded_close(&other_r);
    recorded_close(&r);
    trace_close(other);
    arena_free(&arena);
}

/* Only blocks of some steps or of a label, named as a user would. */
static void ask_born(struct trace *t, size_t size, const struct selection *o)
{
    static const char *const texts[] = {"1",      "2..3", "loop:1", "step:1",
                                        "loop#2", "lopp", "worker"};
    const char *text = texts[size % (sizeof(texts) / sizeof(texts[0]))];
    struct arena arena = {0};
    struct born born = {.labels = {{"k", NULL}}, .label_count = size >> 3 & 1};
    struct selection some = *o;
    struct moments m = {0};
    struct moment_found found;
    struct moment_steps steps;
    struct err err;

    moments_read(&m, t, &arena, NULL);
    if (moment_find(&m, text, &arena, &found, &err) == 0)
        some.at_ns = found.moment->time_ns;
    if (moment_find_steps(&m, text, &arena, &steps, &err) == 0)
        some.from_ns = moments_from(steps.loop, steps.first);
    some.born = &born;
    if (moment_born(&m, text, &arena, &born, &err) == 0 || born.label_count)
        ask(t, &question_leaks, &some);
    moments_free(&m);
    arena_free(&arena);
}

/* The page, with some stretch of it told finer. */
static void ask_closer(struct trace *t, const struct selection *any)
{
    struct selection o = {.finer = {any->from_ns, any->at_ns}};

    ask(t, &question_page, &o);
    o.finer = (struct selection_finer){trace_last_ns(t) / 3, trace_last_ns(t) / 2};
    ask(t, &question_page, &o);
}

/* Options that follow from the input, so that each has some of its own. */
static struct selection drawn(const uint8_t *data, size_t size)
{
    uint64_t hash = 1;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 0x100000001b3u;
    return (struct selection){
        .from_ns = hash & 1 ? hash % 5000000000u : 0,
        .to_ns = hash & 2 ? hash >> 8 : 0,
        .at = (enum selection_at)(hash >> 4 & 3),
        .at_ns = hash >> 16,
        .inverted = hash >> 6 & 1,
        .temporary = (unsigned int)(hash >> 20) % (SELECTION_TEMPORARY_MOST + 1),
        .rows = hash >> 30 & 7,
        .space = hash >> 33 & 3,
    };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct selection whole = {.inverted = true, .at = SELECTION_AT_PEAK, .rows = 3};
    const struct selection part = {
        .from_ns = 1000000, .to_ns = 2000000000, .temporary = 15, .at = SELECTION_AT_DEFAULT};
    const struct selection any = drawn(data, size);
    const struct scope_rules every_file = {.all = true};
    const struct selection every_row = {.rows = size <= EVERY_ROW_MOST ? UINT64_MAX : 100,
                                        .scope = &every_file};
    struct err err;
    struct trace *t = trace_open_bytes(data, size, "fuzz", &err);

    if (!t)
        return 0;
    answer_most = ALLOWED_ANSWER(size);
    for (int i = 0; questions[i]; i++) {
        ask(t, questions[i], (size + (size_t)i) % 2 ? &whole : &part);
    }
    ask_all(t, &any);
    ask_born(t, size, &any);
    ask_closer(t, &any);
    ask_all(t, &every_row);
    compare_moments(t, &part);
    compare_moments(t, &any);
    answer_most = ALLOWED_ANSWER(2 * size);
    compare_traces(t, data, size, &any);
    trace_close(t);
    return 0;
}
