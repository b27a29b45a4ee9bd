/* report - ask a question of a trace and write the answer. */
#include "analyze/question.h"
#include "analyze/scope.h"
#include "cli/command.h"
#include "cli/narrow.h"
#include "cli/output.h"
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
static bool inverted;
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

/* ---- what was asked ---- */

struct request {
    const char *path;
    const struct question *question; /* NULL: what suits the trace */
    const struct format *format;
};

static int find_question(struct request *q, const char *name, struct err *err)
{
    const struct question *found = question_find(name);
    char list[200] = "";

    if (found) {
        q->question = found;
        return 0;
    }
    for (int i = 0; questions[i]; i++) {
        size_t n = strlen(list);

        snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", questions[i]->name);
    }
    return err_code(err, EXIT_USAGE, "'%s' is not a question; ask one of %s", name, list);
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
    const char *made_for = q->format->stacks ? "peak" : q->format->question;

    if (asked && find_question(q, asked, err))
        return -1;
    if (!asked && made_for)
        return find_question(q, made_for, err);
    if (!asked)
        q->question = q->format == formats[0] ? NULL : questions[0];
    if (q->format->question && strcmp(made_for, q->question->name) != 0)
        return err_code(err, EXIT_USAGE, "the format %s is made for the question %s, not for %s",
                        q->format->name, made_for, q->question->name);
    return 0;
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
        return err_code(err, EXIT_USAGE, "one trace and one question at a time, not also '%s'",
                        argv[3]);
    q->path = argv[1];
    if (format_name && find_format(q, format_name, err))
        return -1;
    return match(q, operands == 2 ? argv[2] : NULL, err);
}

/* ---- the answer ---- */

/* A format of stacks is for programs: it leaves nothing out unless it is told to. */
static void suit_format(const struct request *q, struct question_options *o)
{
    if (q->format->stacks && !o->rows)
        o->rows = UINT64_MAX;
}

static int check_stacks(const struct request *q, const struct answer *a, struct err *err)
{
    if (!q->format->stacks || formats_stacks(a))
        return 0;
    return err_code(err, EXIT_USAGE, "the format %s needs stacks, and the answer to %s has none",
                    q->format->name, q->question->name);
}

static void set_scope(void)
{
    scope.only = only.list;
    scope.only_count = only.count;
    scope.exclude = exclude.list;
    scope.exclude_count = exclude.count;
}

static int answer_request(struct request *q, struct err *err)
{
    const char *const traces[] = {q->path, NULL};
    struct arena arena = {0};
    struct answer a = {.arena = &arena};
    struct question_options o = {.inverted = inverted, .scope = &scope};
    struct trace *t = trace_open(q->path, err);
    int result;

    if (!t)
        return -1;
    if (!q->question)
        q->question = question_default(t);
    a.question = q->question->name;
    result = narrow_parse(&narrow, t, &arena, &o, err);
    suit_format(q, &o);
    if (result == 0)
        result = q->question->run(t, &o, &a, err);
    if (result == 0)
        result = check_stacks(q, &a, err);
    if (result == 0)
        result = output_write(q->format, &a, output, traces, err);
    trace_close(t);
    arena_free(&arena);
    return result;
}

static const struct option options[] = {
    {'f', "format", "FORMAT", &format_name, NULL, "How to write the answer (default: text)", NULL,
     "text json csv resource-log collapsed scalene"},
    {'o', "output", "FILE", &output, NULL, "Write to FILE, replacing it when the report is whole",
     NULL, NULL},
    {0, "from", "TIME", &narrow.from, NULL,
     "Only from this time on: 1.5 (seconds since the start), 200ms, 50%", NULL, NULL},
    {0, "to", "TIME", &narrow.to, NULL, "Only up to this time", NULL, NULL},
    {0, "at", "WHEN", &narrow.at, NULL, "The moment that is looked at: peak, end or a time", NULL,
     NULL},
    {0, "limit", "N", &narrow.limit, NULL, "At most N rows of a list", NULL, NULL},
    {0, "all", NULL, &scope.all, NULL,
     "lines, functions, waits: of every file, not only of\nthe program's own", "only", NULL},
    {0, "only", "PATTERN...", &only, parse_pattern,
     "Of files whose path has PATTERN in it, or matches\nit with * ? [ ]; may be given again",
     "all", NULL},
    {0, "exclude", "PATTERN...", &exclude, parse_pattern, "Of no file whose path matches PATTERN",
     NULL, NULL},
    {0, "reduced", NULL, &scope.reduced, NULL,
     "lines: only those above 1 % of the time or with 100\nallocations; the others as one row",
     NULL, NULL},
    {0, "inverted", NULL, &inverted, NULL, "tree: from what allocates to its callers", NULL, NULL},
    {0, "temporary", "N", &narrow.temporary, NULL,
     "A block is temporary if its thread made less than\nN allocations before its free (1 to 15; "
     "default:\n1, all that a sampled recording knows)",
     NULL, NULL},
    {0, "suppressions", "FILE", &narrow.suppressions, NULL,
     "leaks: leave out and count what FILE names, in\nthe format of LeakSanitizer: leak:PATTERN",
     NULL, NULL},
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
    .description =
        "Reads a trace that 'tidemark record' or 'tidemark run --record' wrote and answers one "
        "question about it.\n\n"
        "Of every trace: summary (what the run used, its largest processes, its memory over time; "
        "the default where there is no Python), processes (every process as a tree, with all its "
        "totals and peaks), timeline (the tree and the machine at every sample), resident (what the resident memory consists "
        "of, adding up to it), resources (the columns of py-resource-monitor's log, for the whole "
        "tree).\n\n"
        "Of the program's source: lines (what each line of the program's source cost: CPU time in "
        "Python, in native code and in the kernel, waiting, memory allocated and held at the peak, "
        "copies; the default in text where there is Python), functions (what each function cost, "
        "itself and with all it called), waits (where the threads waited, and for what: sleep, "
        "poll, io, lock, the interpreter's lock, a free CPU). A cost belongs to the innermost line "
        "of Python that is one of the program's files, or else of native code; that of a native "
        "thread to the line that started it. The program's files are all but those of the "
        "interpreter's standard library and of site-packages or dist-packages; what is left over "
        "is said, and --all, --only and --exclude choose others.\n\n"
        "Of allocations: peak (who held memory when most of it was held), leaks (what was alive at "
        "the end, by stack; what still grew first, and how fast), temporary (blocks that were freed almost "
        "at once, by stack), sites (every line of code that allocates, with all that is known of "
        "it), tree (the calls that lead to memory, from the top or inverted), histogram "
        "(allocations by size, and by how long they lived), threads (what each thread allocated "
        "and freed, and its CPU time).\n\n"
        "Of CPU time: cpu (which functions use CPU time, in Python, in native code and in the "
        "kernel).\n\n"
        "Of copies: copies (which lines copy memory, how much, and the CPU time that it takes; how much "
        "is known of recordings made with --copies).\n\n"
        "Of what the program says of itself: regions (the named spans of the program: count, "
        "times, CPU, memory).\n\n"
        "What leaks shows of Python is what was alive before the interpreter freed all it had. It "
        "judges the last two thirds of each process's time. A stack is growing where it held "
        "more and more up to the end, as fewer than one in a hundred series without a trend do "
        "(confidence: 100 % less that chance, at most 99.9 %); growth_per_second is the median "
        "slope, in the process that held most. Unclear: it grew of late, but perhaps by chance. "
        "Grew once: it kept what it had, and no more came, as a cache that is full. Steady: most "
        "of its blocks were freed again (freed_percent). median_age and oldest_age tell how old what was alive "
        "was at the end.\n\n"
        "The formats: text, for reading; json, one object with units, plain numbers and null for "
        "what is absent; csv, one table with a heading (several: each under '# name'); collapsed, "
        "one line for each stack with its bytes or its time in ns, for flame graphs (without a "
        "question: the peak); "
        "resource-log, the log of py-resource-monitor, made for the question resources; scalene, a "
        "profile for the viewer of Scalene, made for the question lines.\n\n"
        "--from and --to narrow every question to a stretch of time, of which no more is read than "
        "is needed; what was alive before it still counts as alive.\n\n"
        "A trace can be read while it is still being recorded, and after the recorder was killed: "
        "the first line of the text (in JSON: health) says what is missing. The "
        "last line (in JSON: coverage) says how many processes were recorded, and how.",
    .examples =
        "tidemark report run.tide\n    the summary with a chart\n"
        "tidemark report run.tide lines --only 'src/*' --reduced\n    only lines that matter of "
        "some files\n"
        "tidemark report run.tide timeline -f csv -o run.csv\n    every sample, for a "
        "spreadsheet\n"
        "tidemark report run.tide processes -f json\n    every process, for a program\n"
        "tidemark report run.tide leaks --suppressions known.supp\n    leaks that are not "
        "known yet\n"
        "tidemark report run.tide peak --from 10 --to 20 -f collapsed\n    ten seconds, for "
        "a flame graph\n"
        "tidemark report run.tide -f resource-log\n    a log as py-resource-monitor writes "
        "it\n",
    .options = options,
    .exits = exits,
    .run = run,
};
