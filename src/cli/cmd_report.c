/* report - ask a question of a trace and write the answer. */
#include "base/count.h"
#include "base/jail.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/dtypes.h"
#include "cli/narrow.h"
#include "cli/output.h"
#include "cli/report_help.h"
#include "model/scope.h"
#include "questions/question.h"
#include "report/formats.h"
#include "trace/read.h"

#include <stdio.h>
#include <string.h>

#define PATTERNS_MOST 64

struct patterns {
    const char *list[PATTERNS_MOST];
    size_t count;
};

static const char *format_name;
static const char *output;
static struct narrow narrow;
static bool inverted, native, per_step, over_time;
static const char *by;
static uint64_t fits_in;
static struct selection_types types;
static struct scope_rules scope;
static struct patterns only, exclude;

static int parse_pattern(const char *text, void *to, struct err *err)
{
    struct patterns *p = to;

    if (!*text)
        return err_code(err, EXIT_USAGE,
                        "an empty pattern matches every file; name a part of a path");
    if (p->count == PATTERNS_MOST)
        return err_code(err, EXIT_USAGE, "at most %d patterns can be given", PATTERNS_MOST);
    p->list[p->count++] = text;
    return 0;
}

static int parse_fits_in(const char *text, void *to, struct err *err)
{
    return text_parse_size(text, to, err) < 0 ? -1 : 0;
}

/* ---- what was asked ---- */

#define TOGETHER_MOST 32

struct request {
    const char *path;
    const struct question *question; /* NULL: what suits the trace */
    bool together;                   /* all that the format asks */
    const struct format *format;
};

static int find_question(struct request *q, const char *name, struct err *err)
{
    q->question = report_question(name, err);
    return q->question ? 0 : -1;
}

static int find_format(struct request *q, const char *name, struct err *err)
{
    const struct format *found = format_find(name);

    if (!found)
        return err_code(err, EXIT_USAGE, "'%s' is not a format", name);
    q->format = found;
    return 0;
}

/* A format that is made for one question asks it, unless another one was named; one that writes
 * stacks asks who held the peak.
 */
static int match(struct request *q, const char *asked, struct err *err)
{
    const char *made_for = q->format->stacks   ? "peak"
                         : q->format->question ? q->format->question
                                               : q->format->first;

    q->together = !asked && q->format->asks;
    if (q->together)
        made_for = q->format->asks[0];
    if (!asked && made_for)
        return find_question(q, made_for, err);
    if (!asked) {
        q->question = q->format == formats[0] ? NULL : questions[0];
        return 0;
    }
    if (q->format->question && strcmp(q->format->question, asked) != 0 && question_find(asked))
        return err_code(err, EXIT_USAGE, "the format %s is made for the question %s, not for %s",
                        q->format->name, q->format->question, asked);
    return find_question(q, asked, err);
}

/* What is about all lives of a stretch has no moment to choose. */
static int check_at(const struct request *q, struct err *err)
{
    if (!narrow.at || !q->question || !q->question->of_lives || q->question->of_moment)
        return 0;
    return err_code(err, EXIT_USAGE,
                    "%s is about a stretch of time, not about a moment: instead of --at, give "
                    "--step, or --from and --to",
                    q->question->name);
}

static int parse(struct request *q, const struct option *options, int argc, char **argv,
                 struct err *err)
{
    int operands = options_parse(options, argc, argv, true, err);

    if (operands < 0)
        return -1;
    if (operands == 0)
        return err_code(err, EXIT_USAGE, "name the trace to report on");
    if (operands > 2)
        return err_code(err, EXIT_USAGE, "give one trace and one question; '%s' is one too many",
                        argv[3]);
    q->path = argv[1];
    if (format_name && find_format(q, format_name, err))
        return -1;
    if (q->format->missing && q->format->missing())
        return err_set(err, "the format %s cannot be written: %s", q->format->name,
                       q->format->missing());
    return match(q, operands == 2 ? argv[2] : NULL, err) || check_at(q, err) ? -1 : 0;
}

/* ---- the answer ---- */

/* A page is of the whole recording: what is asked for is told finer. */
static void narrow_page(struct selection *o)
{
    bool stretch = o->from_ns || o->to_ns;

    o->finer = (struct selection_finer){o->from_ns, stretch && !o->to_ns ? UINT64_MAX : o->to_ns};
    o->from_ns = o->to_ns = 0;
    o->page = o->space ? SELECTION_PAGE_ALONE : SELECTION_PAGE_WITH_SPACES;
}

/* What is for programs leaves nothing out unless it is told to. */
static void suit_format(const struct request *q, struct selection *o)
{
    if (q->question == &question_page)
        narrow_page(o);
    if ((q->format->stacks || q->format->asks) && !o->rows)
        o->rows = UINT64_MAX;
}

static int check_stacks(const struct request *q, const struct answer *a, struct err *err)
{
    if (!q->format->stacks || formats_stacks(a))
        return 0;
    return err_code(err, EXIT_USAGE, "the format %s needs stacks, and the answer to %s has none",
                    q->format->name, q->question->name);
}

static enum selection_by rows_of(void)
{
    static const char *const names[] = {
        [SELECTION_BY_OP] = "op",         [SELECTION_BY_PHASE] = "phase",
        [SELECTION_BY_MODULE] = "module", [SELECTION_BY_LINE] = "line",
        [SELECTION_BY_NODE] = "node",     [SELECTION_BY_KIND] = "kind"};

    for (int i = 0; by && i < COUNT(names); i++)
        if (strcmp(by, names[i]) == 0)
            return (enum selection_by)i;
    return SELECTION_BY_OP;
}

static void set_scope(void)
{
    scope.only = only.list;
    scope.only_count = only.count;
    scope.exclude = exclude.list;
    scope.exclude_count = exclude.count;
}

/* What is asked together: where nothing was asked, the first screen comes before the answer. */
static int list_questions(const struct request *q, bool first_screen,
                          const struct question *list[TOGETHER_MOST])
{
    int count = 0;

    if (q->together) {
        for (; q->format->asks[count]; count++)
            list[count] = question_find(q->format->asks[count]);
        return count;
    }
    if (first_screen)
        list[count++] = &question_overview;
    list[count++] = q->question;
    return count;
}

/* The answers are one. Of those that a format asks together, some may have none. */
static int ask(const struct request *q, bool first_screen, struct recorded *r,
               const struct selection *o, struct answer *a, struct err *err)
{
    const struct question *list[TOGETHER_MOST];
    struct answer answers[TOGETHER_MOST];
    struct err errs[TOGETHER_MOST] = {0};
    int count = list_questions(q, first_screen, list), failed;

    for (int i = 0; i < count; i++)
        answers[i] = *a;
    failed = question_ask_all(list, count, r, o, answers, errs);
    for (int i = 0; i < count && (failed == count || (failed && !q->together)); i++)
        if (*errs[i].text) {
            *err = errs[i];
            return -1;
        }
    for (int i = 0, first = 1; i < count; i++) {
        if (*errs[i].text)
            continue;
        if (first)
            *a = answers[i];
        else
            answer_join(a, &answers[i]);
        first = 0;
    }
    return 0;
}

static int answer_request(struct request *q, struct err *err)
{
    const char *const traces[] = {q->path, NULL};
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .native = native, .trace = text_base(q->path)};
    struct selection o = {.inverted = inverted,
                          .native = native,
                          .scope = &scope,
                          .by = rows_of(),
                          .per_step = per_step,
                          .over_time = over_time,
                          .fits_in = fits_in,
                          .types = &types};
    struct trace *t;
    struct recorded recorded;
    bool first_screen;
    int result;

    jail_command();
    t = trace_open(q->path, err);
    if (!t)
        return -1;
    recorded_open(&recorded, t);
    first_screen = !q->question;
    if (!q->question)
        q->question = question_default(t);
    a.question = q->together ? q->format->name : q->question->name;
    result = narrow_parse(&narrow, t, &arena, &o, err);
    suit_format(q, &o);
    if (result == 0)
        result = ask(q, first_screen, &recorded, &o, &a, err);
    if (result == 0)
        result = check_stacks(q, &a, err);
    if (result == 0)
        result = trace_check(t, q->path, err);
    if (result == 0)
        result = output_write(q->format, &a, output, traces, err);
    recorded_close(&recorded);
    narrow_free(&o);
    trace_close(t);
    arena_free(&arena);
    return result;
}

static const struct option options[] = {
    {'f', "format", "FORMAT", &format_name, NULL, "How to write the answer (default: text)",
     .choices_of = formats_of_all},
    {'o', "output", "FILE", &output, NULL,
     "Write to FILE, replacing it when the report is complete", NULL, NULL},
    {0, "from", "WHEN", &narrow.from, NULL,
     "Only from this time on: 1.5 (seconds since the start), 200ms, 50% or a named moment", "step",
     NULL},
    {0, "to", "WHEN", &narrow.to, NULL, "Only up to this time", "step", NULL},
    {0, "step", "STEPS", &narrow.step, NULL,
     "Only during these steps of the program: 7, 5..9,\nor of a loop that has a name, epoch:2",
     "from to", NULL},
    {0, "at", "WHEN", &narrow.at, NULL,
     "The moment to look at: peak, end, a time or a named\nmoment", NULL, NULL},
    {0, "born-in", "STEPS", &narrow.born_in, NULL, "Only memory that was allocated in these steps",
     NULL, NULL},
    {0, "label", "KEY[=VALUE]...", &narrow, narrow_add_label,
     "Only memory that was allocated under this label of\nits thread; given again: under all of them",
     NULL, NULL},
    {0, "space", "NAME", &narrow.space, NULL,
     "Memory of a device instead of the host's: cuda:0, or\nanother name that the question spaces has",
     NULL, NULL},
    {0, "process", "PID", &narrow.process, NULL, "Only what this process did", "rank", NULL},
    {0, "rank", "N", &narrow.rank, NULL,
     "Only what this rank of a distributed program did, with\nthe processes that it started",
     "process", NULL},
    {0, "limit", "N", &narrow.limit, NULL, "At most N rows of a list", NULL, NULL},
    {0, "all", NULL, &scope.all, NULL,
     "lines, functions, waits: every file, not only the program's own", "only", NULL},
    {0, "only", "PATTERN...", &only, parse_pattern,
     "Only files whose path contains PATTERN, or matches\nit with * ? [ ]; can be given more than once",
     "all", NULL},
    {0, "exclude", "PATTERN...", &exclude, parse_pattern, "No file whose path matches PATTERN",
     NULL, NULL},
    {0, "reduced", NULL, &scope.reduced, NULL,
     "lines: only those above 1 % of the time or with 100\nallocations; the others as one row",
     NULL, NULL},
    {0, "native", NULL, &native, NULL,
     "Whole stacks, with the frames of interpreters, allocators\nand containers, which are left out otherwise",
     NULL, NULL},
    {0, "inverted", NULL, &inverted, NULL, "tree: from what allocates to its callers", NULL, NULL},
    {0, "by", "WHAT", &by, NULL,
     "ops: what a row is of (default: op); decompose\n--over-time: module, for modules as well",
     NULL, "op phase module line node kind"},
    {0, "fits-in", "SIZE", &fits_in, parse_fits_in,
     "what-if: what it takes until all tensors fit into SIZE", NULL, NULL},
    {0, "dtype", "KIND=PERCENT...", &types, dtypes_parse,
     "what-if: with tensors of KIND in another type, of PERCENT of their bytes; can be given more than once",
     NULL, NULL},
    {0, "temporary", "N", &narrow.temporary, NULL,
     "A block is temporary if its thread made fewer than\nN allocations before its free (1 to 15; default:\n1, all that a sampled recording knows)",
     NULL, NULL},
    {0, "per-step", NULL, &per_step, NULL,
     "leaks: what grows from step to step, by stack and op;\ndecompose --over-time: a row for each step",
     NULL, NULL},
    {0, "over-time", NULL, &over_time, NULL,
     "decompose: what tensors are for at many moments of\nthe run", "at", NULL},
    {0, "suppressions", "FILE", &narrow.suppressions, NULL,
     "leaks: leave out and count what FILE names, in\nthe format of LeakSanitizer: leak:PATTERN",
     NULL, NULL},
    {0, "no-default-suppressions", NULL, &narrow.all_leaks, NULL,
     "leaks: show what libraries keep on purpose, too", NULL, NULL},
    {0},
};

static int run(int argc, char **argv, struct err *err)
{
    struct request q = {.path = "", .question = questions[0], .format = formats[0]};

    if (parse(&q, options, argc, argv, err))
        return -1;
    set_scope();
    if (answer_request(&q, err))
        return -1;
    return EXIT_OK;
}

static const struct command_exit exits[] = {
    {"0", "the report was written, even where the trace lacks something"},
    {"1", "the trace cannot be read, or the report cannot be written"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_report = {
    .name = "report",
    .operands = "FILE [QUESTION]",
    .summary = "Answer a question about a recorded run",
    .describe = report_help,
    .examples =
        "tidemark report run.tide\n    how much, when, on which lines, and what is wrong\ntidemark report run.tide lines --only 'src/*' --reduced\n    only the lines that matter, of some files\ntidemark report run.tide timeline -f csv -o run.csv\n    every sample, for a spreadsheet\ntidemark report run.tide processes -f json\n    every process, for a program\ntidemark report run.tide leaks --suppressions known.supp\n    leaks that are not known yet\ntidemark report run.tide peak --from 10 --to 20 -f collapsed\n    ten seconds, for a flame graph\ntidemark report run.tide peak --at warm\n    what was held at tidemark_snapshot(\"warm\")\ntidemark report run.tide leaks --born-in 7 --at step:9\n    what step 7 allocated and nobody freed up to the end of step 9\ntidemark report run.tide -f resource-log\n    a log as py-resource-monitor writes it\n",
    .options = options,
    .exits = exits,
    .run = run,
};
