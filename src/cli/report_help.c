/* report_help - see report_help.h. */
#include "cli/report_help.h"

#include "questions/question.h"
#include "report/formats.h"

static const char intro[] =
    "Reads a trace that 'tidemark record' or 'tidemark run --record' wrote and answers one "
    "question "
    "about it.";

static const char outro[] =
    "--from and --to narrow every question to a span of time, and no more of the trace is read "
    "than it needs; what was already alive before it still counts as alive.\n\nA trace can be read "
    "while it is still being recorded, and after the recorder was killed: the first line of the "
    "text (in JSON: health) says what is missing. The last line (in JSON: coverage) says how many "
    "processes were recorded, and how.";

/* "Of every trace: summary (what the run used), ..." */
static const char *group_help(struct arena *a, enum question_group group)
{
    const struct question_about *about = &question_groups[group];
    const char *list = "";

    for (int i = 0; questions[i]; i++) {
        const struct question *q = questions[i];

        if (q->group == group)
            list = arena_printf(a, "%s%s%s (%s%s)", list, *list ? ", " : "", q->name, q->summary,
                                q->more ? q->more : "");
    }
    return arena_printf(a, "Of %s: %s.%s%s", about->of, list, about->note ? " " : "",
                        about->note ? about->note : "");
}

static const char *format_help(struct arena *a, const struct format *f)
{
    const char *text = arena_printf(a, "%s, %s", f->name, f->summary);

    if (f->question)
        return arena_printf(a, "%s, made for the question %s", text, f->question);
    return f->stacks ? arena_printf(a, "%s (without a question: the peak)", text) : text;
}

const char *report_help(struct arena *a)
{
    const char *text = intro, *list = "";

    for (int i = 0; i < QUESTION_GROUPS; i++)
        text = arena_printf(a, "%s\n\n%s", text, group_help(a, (enum question_group)i));
    for (int i = 0; questions[i]; i++)
        if (questions[i]->about)
            text = arena_printf(a, "%s\n\n%s", text, questions[i]->about);
    for (int i = 0; formats[i]; i++)
        list = arena_printf(a, "%s%s%s", list, i ? "; " : "", format_help(a, formats[i]));
    return arena_printf(a, "%s\n\nThe formats: %s.\n\n%s", text, list, outro);
}
