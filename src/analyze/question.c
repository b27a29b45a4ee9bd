/* question - the list of what can be asked. */
#include "analyze/question.h"

#include <string.h>

const struct question *const questions[] = {
    // clang-format off: one a line, so that a new one is one line
    &question_summary,
    &question_lines,
    &question_functions,
    &question_cpu,
    &question_copies,
    &question_waits,
    &question_peak,
    &question_leaks,
    &question_temporary,
    &question_sites,
    &question_tree,
    &question_histogram,
    &question_threads,
    &question_regions,
    &question_resident,
    &question_processes,
    &question_timeline,
    &question_resources,
    NULL,
    // clang-format on
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
