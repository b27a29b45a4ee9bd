/* question - the list of what can be asked. */
#include "analyze/question.h"

#include <string.h>

const struct question *const questions[] = {
    // clang-format off: one a line, so that a new one is one line
    &question_summary,
    &question_cpu,
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
