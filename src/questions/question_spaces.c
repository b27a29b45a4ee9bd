/* question_spaces - the question `spaces`: the host's memory and that of each device side by side,
 * and what was asked for in vain.
 */
#include "questions/covered_answer.h"
#include "questions/space_tables.h"

static void begin(struct asked *q)
{
    space_tables_begin(q->state, q->recorded);
}

static int run(struct asked *q, struct err *err)
{
    struct space_tables *s = q->state;

    if (q->options->space)
        return err_set(err, "the question spaces shows all of them: ask it without --space");
    covered_answer(q->answer, q->recorded->heap.run);
    space_tables_add(s, q->options, q->answer, true);
    if (!s->spaces.count && !s->launched_count && !s->refused_count)
        answer_facts(q->answer, "spaces")->note =
            "No device's library was seen to allocate: all memory of this trace is the host's.";
    return 0;
}

const struct question question_spaces = {
    .name = "spaces",
    .summary = "the host's memory and that of each device, side by side",
    .group = QUESTION_OF_ALLOCATIONS,
    .about =
        "The questions about allocations are about the host's memory, or, with --space NAME, about that of one device; spaces lists the names. Memory of two of them is never added up.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct space_tables),
    .begin = begin,
    .run = run,
};
