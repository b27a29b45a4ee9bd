/* report_help - see report_help.h. */
#include "cli/report_help.h"

#include "base/near.h"
#include "cli/command.h"
#include "report/formats.h"

#include <string.h>

static const char intro[] =
    "Reads a trace that 'tidemark record' or 'tidemark run --record' wrote and answers one "
    "question about it.";

static const char outro[] =
    "--from and --to narrow every question to a span of time, and no more of the trace is read "
    "than it needs; what was already alive before it still counts as alive.\n\nA trace can be read "
    "while it is still being recorded, and after the recorder was killed: the first line of the "
    "text (in JSON: health) says what is missing. The last line (in JSON: coverage) says how many "
    "processes were recorded, and how.";

static const char *group_help(struct arena *a, enum question_group group)
{
    const struct question_about *about = &question_groups[group];
    const char *text = arena_printf(a, "Of %s:", about->of);

    for (int i = 0; questions[i]; i++) {
        const struct question *q = questions[i];

        if (q->group == group)
            text = arena_printf(a, "%s\n\t%s\t%s%s", text, q->name, q->summary,
                                q->more ? q->more : "");
    }
    return about->note ? arena_printf(a, "%s\n\n%s", text, about->note) : text;
}

static const char *format_help(struct arena *a, const struct format *f)
{
    const char *text = arena_printf(a, "\n\t%s\t%s", f->name, f->summary);

    if (f->question)
        return arena_printf(a, "%s; made for the question %s", text, f->question);
    return f->stacks ? arena_printf(a, "%s (without a question: the peak)", text) : text;
}

static const char *all_abouts(struct arena *a, const char *text)
{
    for (int i = 0; questions[i]; i++)
        if (questions[i]->about)
            text = arena_printf(a, "%s\n\n%s", text, questions[i]->about);
    return text;
}

const char *report_help(struct arena *a, bool whole)
{
    const char *text = intro;

    if (!whole)
        text = arena_printf(a, "%s 'tidemark help report QUESTION' says more about one.", text);
    for (int i = 0; i < QUESTION_GROUPS; i++)
        text = arena_printf(a, "%s\n\n%s", text, group_help(a, (enum question_group)i));
    if (whole)
        text = all_abouts(a, text);
    text = arena_printf(a, "%s\n\nThe formats of -f:", text);
    for (int i = 0; formats[i]; i++)
        text = arena_printf(a, "%s%s", text, format_help(a, formats[i]));
    return arena_printf(a, "%s\n\n%s", text, outro);
}

const struct question *report_question(const char *name, struct err *err)
{
    const struct question *found = question_find(name);
    struct arena scratch = {0};
    struct near near = near_begin(name, strlen(name));
    const char *list = "";

    if (found)
        return found;
    for (int i = 0; questions[i]; i++) {
        near_offer(&near, questions[i]->name);
        list = arena_printf(&scratch, "%s%s%s", list, i ? ", " : "", questions[i]->name);
    }
    if (near.guess)
        err_code(err, EXIT_USAGE, "'%s' is not a question (did you mean '%s'?)", name, near.guess);
    else
        err_code(err, EXIT_USAGE, "'%s' is not a question; ask one of %s", name, list);
    arena_free(&scratch);
    return NULL;
}

const char *report_help_question(struct arena *a, const struct question *q)
{
    const char *note = question_groups[q->group].note;
    const char *text = arena_printf(a, "\t%s\t%s%s", q->name, q->summary, q->more ? q->more : "");

    if (note)
        text = arena_printf(a, "%s\n\n%s", text, note);
    return q->about ? arena_printf(a, "%s\n\n%s", text, q->about) : text;
}
