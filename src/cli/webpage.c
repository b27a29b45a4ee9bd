/* webpage - see webpage.h. */
#include "cli/webpage.h"

#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "model/scope.h"
#include "model/space_lens.h"
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

/* The space of a place in META.spaces. */
static int find_space(struct trace *t, uint64_t place, struct arena *arena, struct selection *o,
                      struct err *err)
{
    struct space_list l = {0};

    if (!place)
        return 0;
    space_list_read(&l, t, arena);
    if (place > l.count)
        return err_set(err, "the recording has no memory of that number");
    o->space = l.list[place - 1].number;
    o->page = SELECTION_PAGE_BESIDE;
    return 0;
}

/* The data of one trace. */
static int ask(const char *path, const struct webpage_asked *w, struct arena *arena,
               struct answer_page *to, struct err *err)
{
    static const struct scope_rules own;
    struct answer a = {.arena = arena, .question = question_page.name, .trace = text_base(path)};
    struct selection all = {.scope = &own,
                            .finer = {w->from_ns, w->to_ns},
                            .page = w->all_spaces ? SELECTION_PAGE_WITH_SPACES
                                                  : SELECTION_PAGE_ALONE};
    struct trace *t = trace_open(path, err);
    struct recorded recorded;
    int result;

    if (!t)
        return -1;
    recorded_open(&recorded, t);
    result = find_space(t, w->space, arena, &all, err);
    if (result == 0)
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
    const struct webpage_asked whole = {.all_spaces = true};
    int result = ask(traces[0], &whole, &arena, &a.pages[0], err);

    if (result == 0 && traces[1])
        result = ask(traces[1], &whole, &arena, &a.pages[1], err);
    if (result == 0)
        result = output_write(&format_html, &a, path, traces, err);
    arena_free(&arena);
    return result;
}

int webpage_data(const char *path, const struct webpage_asked *w, FILE *out, struct err *err)
{
    struct arena arena = {0};
    struct answer_page page = {0};
    int result = ask(path, w, &arena, &page, err);

    if (result == 0 && fwrite(page.bytes, 1, page.count, out) != page.count)
        result = err_set(err, "there is no memory for the data of the page");
    arena_free(&arena);
    return result;
}
