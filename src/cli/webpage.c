/* webpage - see webpage.h. */
#include "cli/webpage.h"

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "model/scope.h"
#include "questions/question.h"
#include "report/formats.h"
#include "trace/read.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int webpage_check(const char *path, struct err *err)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/'), *missing = format_html.missing();
    size_t length = slash ? (size_t)(slash - path) : 0;

    if (missing)
        return err_set(err, "no page can be written: %s", missing);
    if (length >= sizeof(folder))
        return err_set(err, "cannot write '%s': %s", path, strerror(ENAMETOOLONG));
    snprintf(folder, sizeof(folder), "%.*s", (int)length, path);
    if (access(!slash ? "." : length ? folder : "/", W_OK))
        return err_set(err, "cannot write '%s': %s", path, strerror(errno));
    return 0;
}

/* The data of one trace. */
static int ask(const char *path, struct selection_finer finer, struct arena *arena,
               struct answer_page *to, struct err *err)
{
    static const struct scope_rules own;
    struct answer a = {.arena = arena, .question = question_page.name, .trace = text_base(path)};
    const struct selection all = {.scope = &own, .finer = finer};
    struct trace *t = trace_open(path, err);
    struct recorded recorded;
    int result;

    if (!t)
        return -1;
    recorded_open(&recorded, t);
    result = question_ask(&question_page, &recorded, &all, &a, err);
    if (result == 0)
        result = trace_check(t, path, err);
    *to = a.pages[0];
    recorded_close(&recorded);
    trace_close(t);
    return result;
}

int webpage_write(const char *const *traces, const char *path, struct err *err)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = question_page.name};
    const struct selection_finer none = {0};
    int result = ask(traces[0], none, &arena, &a.pages[0], err);

    if (result == 0 && traces[1])
        result = ask(traces[1], none, &arena, &a.pages[1], err);
    if (result == 0)
        result = output_write(&format_html, &a, path, traces, err);
    arena_free(&arena);
    return result;
}

int webpage_data(const char *path, uint64_t from_ns, uint64_t to_ns, FILE *out, struct err *err)
{
    const struct selection_finer finer = {from_ns, to_ns};
    struct arena arena = {0};
    struct answer_page page = {0};
    int result = ask(path, finer, &arena, &page, err);

    if (result == 0 && fwrite(page.bytes, 1, page.count, out) != page.count)
        result = err_set(err, "there is no memory for the data of the page");
    arena_free(&arena);
    return result;
}
