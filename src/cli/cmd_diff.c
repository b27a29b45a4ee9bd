/* diff - compare two recordings, or two moments of one. */
#include "base/count.h"
#include "base/jail.h"
#include "cli/command.h"
#include "cli/fail_if.h"
#include "cli/narrow.h"
#include "cli/output.h"
#include "cli/webpage.h"
#include "questions/diff.h"
#include "questions/diff_ops.h"
#include "report/formats.h"
#include "trace/read.h"

#include <string.h>

static const char *format_name;
static const char *output;
static const char *by;
static struct fail_if fail_if;
static struct narrow narrow = {.moments = true};
static bool per_op;
static struct pair {
    const char *list[2];
    int count;
} steps, ranks;

static int add(struct pair *p, const char *what, const char *text, struct err *err)
{
    if (p->count == COUNT(p->list))
        return err_code(err, EXIT_USAGE, "compare two %s at a time; '%s' is one too many", what,
                        text);
    p->list[p->count++] = text;
    return 0;
}

static int add_step(const char *text, void *to, struct err *err)
{
    return add(to, "steps", text, err);
}

static int add_rank(const char *text, void *to, struct err *err)
{
    return add(to, "ranks", text, err);
}

/* What is given once is of both. */
static const char *of_side(const struct pair *p, int side)
{
    return p->count > 1 ? p->list[side] : p->list[0];
}

static enum diff_by sorted_by(void)
{
    static const char *const names[] = {[DIFF_BY_PEAK] = "peak",
                                        [DIFF_BY_ALLOCATED] = "allocated",
                                        [DIFF_BY_LEAKED] = "leaked",
                                        [DIFF_BY_CPU] = "cpu",
                                        [DIFF_BY_WAITING] = "waiting"};

    for (int i = 0; by && i < COUNT(names); i++)
        if (strcmp(by, names[i]) == 0)
            return (enum diff_by)i;
    return DIFF_BY_PEAK;
}

/* A step of a trace, or all of it; and a rank of that, or all. */
static int parse_side(struct recorded *r, int side, const char *step, struct answer *a,
                      struct selection *o, struct err *err)
{
    const struct narrow n = {
        .limit = narrow.limit, .space = narrow.space, .step = step, .rank = of_side(&ranks, side)};

    return narrow_parse(&n, r->trace, a->arena, o, err);
}

/* Operator by operator: two steps of one trace, or the same steps of two, or all of both. */
static int compare_ops(struct recorded *a, struct recorded *b, struct answer *answer,
                       struct err *err)
{
    struct selection o[2] = {0};
    int result = parse_side(a, 0, of_side(&steps, 0), answer, &o[0], err);

    if (result == 0)
        result = parse_side(b, 1, of_side(&steps, 1), answer, &o[1], err);
    if (result == 0)
        result = diff_ops(a, &o[0], b, &o[1], answer, err);
    narrow_free(&o[0]);
    narrow_free(&o[1]);
    return result;
}

/* Two moments of one trace; those of two steps are their ends. */
static int compare_moments(struct recorded *r, struct answer *a, struct err *err)
{
    struct selection o = {0};
    int result = -1;

    if (steps.count) {
        narrow.from = arena_printf(a->arena, "step:%s", steps.list[0]);
        narrow.to = arena_printf(a->arena, "step:%s", steps.list[1]);
    }
    narrow.rank = ranks.list[0];
    if (narrow_parse(&narrow, r->trace, a->arena, &o, err) == 0) {
        a->asked = o.asked;
        result = diff_moments(r, &o, a, err);
    }
    narrow_free(&o);
    return result;
}

static int compare_traces(struct recorded *r, struct recorded *other, struct answer *a,
                          struct err *err)
{
    struct selection o[2] = {0};
    int result = parse_side(r, 0, NULL, a, &o[0], err);

    if (result == 0)
        result = parse_side(other, 1, NULL, a, &o[1], err);
    a->asked = ranks.count > 1 ? arena_printf(a->arena, "A is rank %s, B rank %s of one recording.",
                                              ranks.list[0], ranks.list[1])
                               : o[0].asked;
    if (result == 0)
        result = diff_traces(r, other, sorted_by(), o, a, err);
    narrow_free(&o[0]);
    narrow_free(&o[1]);
    return result;
}

/* How many conditions of --fail-if hold, or -1. */
static int compare(struct recorded *r, int count, const char *const *paths,
                   const struct format *format, struct err *err)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = "diff"};
    int result = per_op    ? compare_ops(&r[0], &r[count - 1], &a, err)
               : count > 1 ? compare_traces(&r[0], &r[1], &a, err)
                           : compare_moments(r, &a, err);

    for (int i = 0; i < count && result == 0; i++)
        result = trace_check(r[i].trace, paths[i], err);
    if (result == 0)
        result = output_write(format, &a, output, paths, err);
    if (result == 0)
        result = fail_if_check(&fail_if, &a, err);
    arena_free(&arena);
    return result;
}

/* Two traces as one page. */
static int compare_pages(const char *const *paths, struct err *err)
{
    if (!paths[1])
        return err_code(err, EXIT_USAGE, "a page compares two traces: name a second one");
    if (format_html.missing())
        return err_set(err, "no page can be written: %s", format_html.missing());
    jail_command();
    return webpage_write(paths, output, err);
}

static int open_and_compare(const char *const *paths, const struct format *format, struct err *err)
{
    struct recorded r[2];
    struct trace *traces[2];
    int count = 0, wanted = paths[1] ? 2 : 1, result = -1;

    jail_command();
    while (count < wanted && (traces[count] = trace_open(paths[count], err))) {
        recorded_open(&r[count], traces[count]);
        count++;
    }
    if (count == wanted)
        result = compare(r, count, paths, format, err);
    while (count--) {
        recorded_close(&r[count]);
        trace_close(traces[count]);
    }
    return result;
}

static const struct option options[] = {
    {'f', "format", "FORMAT", &format_name, NULL, "How to write the answer (default: text)",
     .choices_of = formats_of_pairs},
    {'o', "output", "FILE", &output, NULL,
     "Write to FILE, replacing it when the report is complete", NULL, NULL},
    {0, "by", "WHAT", &by, NULL, "What to sort by (default: peak)", "from to",
     "peak allocated leaked cpu waiting"},
    {0, "fail-if", "CONDITION...", &fail_if, fail_if_parse,
     "Exit with 1 if this holds of the totals: 'peak>+5%',\n'leaked>+1M', 'allocated>10G'; can be given more than\nonce",
     NULL, NULL},
    {0, "space", "NAME", &narrow.space, NULL,
     "Memory of a device instead of the host's, such as\ncuda:0", NULL, NULL},
    {0, "limit", "N", &narrow.limit, NULL, "At most N lines and N stacks (default: 30)", NULL,
     NULL},
    {0, "per-op", NULL, &per_op, NULL,
     "Deep learning: compare operator by operator what is\nallocated for tensors, and the peak of tensors",
     "from to by fail-if", NULL},
    {0, "step", "STEP...", &steps, add_step,
     "Given twice, of one trace: compare these two steps, by\nwhat lived at their ends or, with --per-op, by all that\nthey did. Once, with --per-op: that step of both traces",
     "from to", NULL},
    {0, "rank", "N...", &ranks, add_rank,
     "Of a distributed program: only this rank. Given twice, of\none trace: compare these two ranks",
     NULL, NULL},
    {0, "from", "WHEN", &narrow.from, NULL,
     "One trace: the first moment, 1.5 (seconds since\nthe start), 200ms, 50% or a named one "
     "(default:\nthe start)",
     NULL, NULL},
    {0, "to", "WHEN", &narrow.to, NULL,
     "One trace: the second moment (default: when each\nprocess ended)", NULL, NULL},
    {0},
};

static int check_operands(int operands, char **argv, struct err *err)
{
    bool moments = narrow.from || narrow.to || steps.count > 1;

    if (operands == 0)
        return err_code(err, EXIT_USAGE, "name two traces, or one and two times");
    if (ranks.count > 1 && (operands == 2 || narrow.from || narrow.to))
        return err_code(err, EXIT_USAGE, "two ranks are compared of one trace, over all of it");
    if (operands == 1 && !moments && ranks.count < 2)
        return err_code(
            err, EXIT_USAGE,
            "name a second trace, or two moments with --from and --to, or --step twice, or --rank twice");
    if (operands == 2 && (narrow.from || narrow.to))
        return err_code(err, EXIT_USAGE, "--from and --to are for two moments of one trace");
    if (operands == 2 && steps.count && !per_op)
        return err_code(err, EXIT_USAGE, "--step of two traces is compared with --per-op");
    if (operands > 2)
        return err_code(err, EXIT_USAGE, "compare two traces at a time; '%s' is one too many",
                        argv[3]);
    return 0;
}

static int run(int argc, char **argv, struct err *err)
{
    int operands = options_parse(options, argc, argv, true, err);
    const struct format *format = format_name ? format_find(format_name) : formats[0];
    const char *paths[3] = {NULL};

    if (operands < 0 || check_operands(operands, argv, err))
        return -1;
    for (int i = 0; i < operands; i++)
        paths[i] = argv[i + 1];
    if (ranks.count > 1)
        paths[1] = paths[0];
    operands = format->pair ? compare_pages(paths, err) : open_and_compare(paths, format, err);
    return operands > 0 ? EXIT_NO : operands;
}

static const struct command_exit exits[] = {
    {"0", "the comparison was written, whether or not they differ"},
    {"1",
     "a condition of --fail-if holds, a trace cannot be read or holds no allocations, or the output cannot be written"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_diff = {
    .name = "diff",
    .operands = "FILE [FILE]",
    .summary = "Compare two recordings, or two moments of one",
    .description =
        "Says which stacks hold more or less memory in the second recording than in the first: at the peak, allocated in all, and left at the end. The largest differences, in either direction, come first. And which lines became slower or faster, by their CPU time and waiting: each change has its error, and there is a verdict only where it is more than twice that.\n\nLines are matched by their text in their function, wherever they stand. Stacks are matched by the names of their functions and of the libraries they are in, not by addresses or lines, so that two builds of a program can be compared. Functions without a name are matched by their library alone.\n\nWith one trace, --from and --to are two moments of it, and what lived at each is compared; with --rank twice, two ranks of a distributed program are.\n\nWith --per-op the operators of a deep-learning program that allocate tensors are matched in their order, by name, phase and modules, and each is charged with its own change: of two traces, or of two steps of one.",
    .examples =
        "tidemark diff before.tide after.tide\n    what a change did to the peak\n"
        "tidemark diff before.tide after.tide --by allocated -f csv\n    and to the churn, "
        "for a spreadsheet\n"
        "tidemark diff before.tide after.tide --by cpu\n    which line became slower\n"
        "tidemark diff run.tide --from 10 --to 60\n    what grew in between\n"
        "tidemark diff run.tide --step 5 --step 20 --per-op\n    which operators allocate more in step 20\n"
        "tidemark diff run.tide --rank 0 --rank 1\n    which rank holds more, and where\n"
        "tidemark diff before.tide after.tide -f html -o diff.html\n    both in one page\n",
    .options = options,
    .exits = exits,
    .run = run,
};
