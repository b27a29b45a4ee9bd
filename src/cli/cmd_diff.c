/* diff - compare two recordings, or two moments of one. */
#include "analyze/diff.h"
#include "cli/command.h"
#include "cli/narrow.h"
#include "cli/output.h"
#include "report/formats.h"
#include "trace/read.h"

#include <string.h>

static const char *format_name;
static const char *output;
static const char *by;
static struct narrow narrow;

static enum diff_by sorted_by(void)
{
    if (by && strcmp(by, "allocated") == 0)
        return DIFF_BY_ALLOCATED;
    return by && strcmp(by, "leaked") == 0 ? DIFF_BY_LEAKED : DIFF_BY_PEAK;
}

/* Two moments of one trace. */
static int compare_moments(struct trace *t, struct answer *a, struct err *err)
{
    struct question_options o = {0};

    if (narrow_parse(&narrow, t, a->arena, &o, err))
        return -1;
    return diff_moments(t, &o, a, err);
}

static int compare_traces(struct trace *t, const char *path, struct answer *a, struct err *err)
{
    struct narrow limit = {.limit = narrow.limit};
    struct question_options o = {0};
    struct trace *other;
    int result;

    if (narrow_parse(&limit, t, a->arena, &o, err))
        return -1;
    other = trace_open(path, err);
    if (!other)
        return -1;
    result = diff_traces(t, other, sorted_by(), &o, a, err);
    trace_close(other);
    return result;
}

static int compare(const char *const *paths, const struct format *format, struct err *err)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = "diff"};
    struct trace *t = trace_open(paths[0], err);
    int result;

    if (!t)
        return -1;
    result = paths[1] ? compare_traces(t, paths[1], &a, err) : compare_moments(t, &a, err);
    if (result == 0)
        result = output_write(format, &a, output, paths, err);
    trace_close(t);
    arena_free(&arena);
    return result;
}

static const struct option options[] = {
    {'f', "format", "FORMAT", &format_name, NULL, "How to write the answer (default: text)", NULL,
     "text json csv"},
    {'o', "output", "FILE", &output, NULL, "Write to FILE, replacing it when the report is whole",
     NULL, NULL},
    {0, "by", "WHAT", &by, NULL, "What to sort by (default: peak)", "from to",
     "peak allocated leaked"},
    {0, "limit", "N", &narrow.limit, NULL, "At most N stacks (default: 30)", NULL, NULL},
    {0, "from", "TIME", &narrow.from, NULL,
     "One trace: the first moment, 1.5 (seconds since\nthe start), 200ms or 50% (default: the "
     "start)",
     NULL, NULL},
    {0, "to", "TIME", &narrow.to, NULL,
     "One trace: the second moment (default: when each\nprocess ended)", NULL, NULL},
    {0},
};

static int check_operands(int operands, char **argv, struct err *err)
{
    bool moments = narrow.from || narrow.to;

    if (operands == 0)
        return err_code(err, EXIT_USAGE, "name two traces, or one and two times");
    if (operands == 1 && !moments)
        return err_code(err, EXIT_USAGE,
                        "name a second trace, or two moments with --from and --to");
    if (operands == 2 && moments)
        return err_code(err, EXIT_USAGE, "--from and --to are for two moments of one trace");
    if (operands > 2)
        return err_code(err, EXIT_USAGE, "two traces at a time, not also '%s'", argv[3]);
    return 0;
}

static int run(int argc, char **argv, struct err *err)
{
    int operands = options_parse(options, argc, argv, true, err);
    const char *paths[3] = {NULL};

    if (operands < 0 || check_operands(operands, argv, err))
        return -1;
    for (int i = 0; i < operands; i++)
        paths[i] = argv[i + 1];
    if (compare(paths, format_name ? format_find(format_name) : formats[0], err))
        return -1;
    return EXIT_OK;
}

static const struct command_exit exits[] = {
    {"0", "the comparison was written, whether or not they differ"},
    {"1", "a trace cannot be read or holds no allocations, or the output cannot be written"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_diff = {
    .name = "diff",
    .operands = "FILE [FILE]",
    .summary = "Compare two recordings, or two moments of one",
    .description =
        "Says which stacks hold more or less memory in the second recording than in the first: at "
        "the peak, allocated in all, and left at the end. The largest differences, in either "
        "direction, come first.\n\n"
        "Stacks are matched by the names of their functions and of the libraries they are in, not "
        "by addresses or lines, so that two builds of a program compare. Functions without a name "
        "are matched by their library alone.\n\n"
        "With one trace, --from and --to are two moments of it, and what lived at each is compared.",
    .examples = "tidemark diff before.tide after.tide\n    what a change did to the peak\n"
                "tidemark diff before.tide after.tide --by allocated -f csv\n    and to the churn, "
                "for a spreadsheet\n"
                "tidemark diff run.tide --from 10 --to 60\n    what grew in between\n",
    .options = options,
    .exits = exits,
    .run = run,
};
