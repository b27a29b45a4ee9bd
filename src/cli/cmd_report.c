/* report - ask a question of a trace and write the answer.
 *
 * An output file is written beside its place and moved there when it is whole, so that a report
 * that fails leaves the older one as it was.
 */
#include "analyze/question.h"
#include "cli/command.h"
#include "report/formats.h"
#include "trace/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *format_name;
static const char *output;

/* ---- what was asked ---- */

struct request {
    const char *path;
    const struct question *question;
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

/* A format that is made for one question asks it, unless another one was named. */
static int match(struct request *q, const char *asked, struct err *err)
{
    const char *made_for = q->format->question;

    if (asked && find_question(q, asked, err))
        return -1;
    if (!asked && made_for)
        return find_question(q, made_for, err);
    if (made_for && strcmp(made_for, q->question->name) != 0)
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

/* ---- where the answer goes ---- */

static int write_failed(const char *path, struct err *err)
{
    return err_set(err, "cannot write '%s': %s", path, strerror(errno));
}

/* Write everything to `out` and close it; -1 with errno. */
static int fill(FILE *out, const struct request *q, const struct answer *a)
{
    int failed;

    errno = 0;
    q->format->write(a, out);
    failed = fflush(out) != 0 || ferror(out);
    if (fclose(out) != 0)
        failed = 1;
    if (failed && errno == 0)
        errno = EIO;
    return failed ? -1 : 0;
}

/* A pipe or a device cannot be replaced by a file: it is written to as it is. */
static int write_special(const char *path, const struct request *q, const struct answer *a,
                         struct err *err)
{
    FILE *out = fopen(path, "we");

    if (!out || fill(out, q, a))
        return write_failed(path, err);
    return 0;
}

static mode_t mode_for(const struct stat *old)
{
    mode_t mask = umask(0);

    umask(mask);
    return old ? old->st_mode & 07777 : 0666 & ~mask;
}

static int write_beside(const char *path, const struct stat *old, const struct request *q,
                        const struct answer *a, struct err *err)
{
    char *temporary = arena_printf(a->arena, "%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    FILE *out;

    if (fd < 0)
        return write_failed(path, err);
    fchmod(fd, mode_for(old));
    out = fdopen(fd, "w");
    if (!out)
        close(fd);
    if (!out || fill(out, q, a) || rename(temporary, path)) {
        write_failed(path, err);
        unlink(temporary);
        return -1;
    }
    return 0;
}

static int write_file(const struct request *q, const struct answer *a, struct err *err)
{
    struct stat old, trace;
    char *target;
    int result;

    if (stat(output, &old) != 0)
        return write_beside(output, NULL, q, a, err);
    if (stat(q->path, &trace) == 0 && trace.st_dev == old.st_dev && trace.st_ino == old.st_ino)
        return err_code(err, EXIT_USAGE, "'%s' is the trace itself; name another output", output);
    if (S_ISDIR(old.st_mode))
        return err_set(err, "cannot write '%s': it is a directory", output);
    if (!S_ISREG(old.st_mode))
        return write_special(output, q, a, err);
    target = realpath(output, NULL); /* a link stays one: what it points to is replaced */
    if (!target)
        return write_failed(output, err);
    result = write_beside(target, &old, q, a, err);
    free(target);
    return result;
}

static int answer_request(const struct request *q, struct err *err)
{
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = q->question->name};
    struct trace *t = trace_open(q->path, err);
    int result;

    if (!t)
        return -1;
    result = q->question->run(t, &a, err);
    if (result == 0 && output && strcmp(output, "-") != 0)
        result = write_file(q, &a, err);
    else if (result == 0)
        q->format->write(&a, stdout);
    trace_close(t);
    arena_free(&arena);
    return result;
}

static const struct option options[] = {
    {'f', "format", "FORMAT", &format_name, NULL, "How to write the answer (default: text)", NULL,
     "text json csv resource-log"},
    {'o', "output", "FILE", &output, NULL, "Write to FILE, replacing it when the report is whole",
     NULL, NULL},
    {0},
};

static int run(int argc, char **argv, struct err *err)
{
    struct request q = {.path = "", .question = questions[0], .format = formats[0]};

    if (parse(&q, options, argc, argv, err) || answer_request(&q, err))
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
        "Reads a trace that 'tidemark run --record' wrote and answers one question about it. The "
        "questions: summary (what the run used, its largest processes, its memory over time; the "
        "default), processes (every process as a tree, with all its totals and peaks), timeline "
        "(the tree and the machine at every sample), resources (the columns of "
        "py-resource-monitor's log, for the whole tree).\n\n"
        "The formats: text, for reading; json, one object with units, plain numbers and null for "
        "what is absent; csv, one table with a heading (summary: several, each under '# name'); "
        "resource-log, the log of py-resource-monitor, made for the question resources.\n\n"
        "A trace can be read while it is still being recorded, and after the recorder was killed: "
        "the first line of the text (in JSON: health) says what is missing.",
    .examples = "tidemark report run.tide\n    the summary with a chart\n"
                "tidemark report run.tide timeline -f csv -o run.csv\n    every sample, for a "
                "spreadsheet\n"
                "tidemark report run.tide processes -f json\n    every process, for a program\n"
                "tidemark report run.tide -f resource-log\n    a log as py-resource-monitor writes "
                "it\n",
    .options = options,
    .exits = exits,
    .run = run,
};
