/* fuzz_report - any bytes as a trace, and every question asked of it in every format, of all of it
 * and of a stretch: no crash, no growth.
 */
#include "mutate.h"

#include "analyze/diff.h"
#include "report/formats.h"

static void write_all(const struct answer *a, FILE *out)
{
    for (int i = 0; formats[i]; i++)
        if (!formats[i]->question || strcmp(formats[i]->question, a->question) == 0)
            formats[i]->write(a, out);
}

static void ask(struct trace *t, const struct question *q, const struct question_options *o,
                FILE *out)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = q->name};
    struct err err;

    trace_rewind(t, 0, UINT64_MAX);
    if (q->run(t, o, &a, &err) == 0)
        write_all(&a, out);
    arena_free(&arena);
}

static void compare(struct trace *t, const struct question_options *o, FILE *out)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = "diff"};
    struct err err;

    trace_rewind(t, 0, UINT64_MAX);
    if (diff_moments(t, o, &a, &err) == 0)
        write_all(&a, out);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct question_options whole = {.inverted = true, .at = QUESTION_AT_PEAK, .rows = 3};
    const struct question_options part = {
        .from_ns = 1000000, .to_ns = 2000000000, .temporary = 15, .at = QUESTION_AT_DEFAULT};
    struct err err;
    struct trace *t = trace_open_bytes(data, size, "fuzz", &err);
    FILE *out = fopen("/dev/null", "w");

    if (t && out) {
        for (int i = 0; questions[i]; i++) {
            ask(t, questions[i], &whole, out);
            ask(t, questions[i], &part, out);
        }
        compare(t, &part, out);
    }
    if (out)
        fclose(out);
    trace_close(t);
    return 0;
}
