/* run - start a command, watch it and all its processes from outside, say what they used.
 *
 * Everything that can be wrong with the options, the files and the baselines is found before the
 * command starts. What was measured is never thrown away: a report that cannot be written where it
 * should be goes to standard error.
 */
#include "base/text.h"
#include "cli/command.h"
#include "cli/limit.h"
#include "cli/run_baseline.h"
#include "cli/run_outputs.h"
#include "cli/script.h"
#include "cli/words.h"
#include "devices/choice.h"
#include "report/live.h"
#include "report/run_report.h"
#include "watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIDS_MOST 64

static bool json, csv, quiet, verbose, watching, no_children, mute, exact, pss, list_baselines,
    force;
static const char *timeline, *units, *save_baseline, *compare_baseline, *baseline_dir,
    *delete_baseline, *output, *record, *on_threshold;
static uint64_t threshold = ABSENT, interval_ns = 100000000u, report_fd = ABSENT;
static double regression_threshold = 10.0;
static enum redact redact;
static struct device_choice devices;
static int pids[PIDS_MOST];
static size_t pid_count;

/* ---- the values of options ---- */

static int parse_size(const char *text, void *to, struct err *err)
{
    return text_parse_size(text, to, err);
}

static int parse_interval(const char *text, void *to, struct err *err)
{
    return text_parse_interval(text, to, err);
}

static int parse_percent(const char *text, void *to, struct err *err)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !isfinite(value))
        return err_code(err, EXIT_USAGE,
                        "'%s' is not a percentage; write a number such as 10 or 2.5", text);
    *(double *)to = value;
    return 0;
}

static int parse_descriptor(const char *text, void *to, struct err *err)
{
    uint64_t fd;

    if (!text_parse_number(text, &fd) || fd > 1 << 20 || fcntl((int)fd, F_GETFD) < 0)
        return err_code(err, EXIT_USAGE,
                        "'%s' is not an open file descriptor; open it first, as in 3>report.txt",
                        text);
    *(uint64_t *)to = fd;
    return 0;
}

static int parse_pids(const char *text, void *to, struct err *err)
{
    const char *s = text;

    (void)to;
    for (;;) {
        char *end;
        long pid = strtol(s, &end, 10);

        if (end == s || pid <= 0 || pid > 1 << 30 || (*end && *end != ','))
            return err_code(err, EXIT_USAGE, "'%s' is not a list of process ids, such as 4711,4712",
                            text);
        if (pid_count == PIDS_MOST)
            return err_code(err, EXIT_USAGE, "more than %d process ids", PIDS_MOST);
        pids[pid_count++] = (int)pid;
        if (!*end)
            return 0;
        s = end + 1;
    }
}

static const struct option options[] = {
    {'j', "json", NULL, &json, NULL, "Write the report as JSON", "csv quiet watch", NULL},
    {'c', "csv", NULL, &csv, NULL, "Write the report as CSV: a header and one row",
     "json quiet watch", NULL},
    {'q', "quiet", NULL, &quiet, NULL, "Write only the peak RSS, in bytes",
     "json csv verbose watch", NULL},
    {'v', "verbose", NULL, &verbose, NULL,
     "Add the process tree with each process's own peak, samples and CPU time", "quiet", NULL},
    {'w', "watch", NULL, &watching, NULL,
     "Show memory live on the last lines of the terminal (standard error)", "json csv quiet", NULL},
    {'t', "threshold", "SIZE", &threshold, parse_size,
     "Alert on standard error when memory exceeds SIZE (512M is 10^6-based, 512MiB 2^20-based), "
     "and exit with 1",
     NULL, NULL},
    {0, "limit", "peak=SIZE", &threshold, limit_parse_peak,
     "The same as --threshold SIZE, as 'tidemark record' has it", "threshold", NULL},
    {0, "on-threshold", "ACTION", &on_threshold, NULL,
     "What else to do then: report (nothing else) or kill (end the command and all its processes)",
     NULL, "report kill"},
    {0, "no-children", NULL, &no_children, NULL, "Watch only the command itself, not its children",
     NULL, NULL},
    {0, "timeline", "FILE", &timeline, NULL,
     "Write every sample of the tree to FILE: JSON, or CSV when it ends in .csv", NULL, NULL},
    {0, "record", "FILE", &record, NULL,
     "Keep the whole run in FILE (.tide) for 'tidemark report': every process and the machine",
     NULL, NULL},
    {'f', "force", NULL, &force, NULL,
     "Overwrite the FILE of --record; otherwise one that is there is kept, and the next free name is taken",
     NULL, NULL},
    {0, "redact", "[all]", &redact, redact_parse,
     "Leave what may be secret, such as the values of passwords and tokens, out of the command lines that are recorded; all: every argument",
     NULL, NULL},
    {0, "interval", "TIME", &interval_ns, parse_interval,
     "Time between samples: 100 (ms), 50ms, 0.05s (default: 100 ms)", NULL, NULL},
    {0, "exact", NULL, &exact, NULL,
     "See every process at its end, however short-lived: as root by the kernel's exit records, otherwise by stopping each process at its birth and exit (ptrace)",
     "pid", NULL},
    {0, "pss", NULL, &pss, NULL,
     "Add proportional sizes, the only correct sum where processes share memory; takes at most 1 % of the time",
     NULL, NULL},
    DEVICE_OPTIONS(devices),
    {0, "units", "UNIT", &units, NULL, "Show sizes in this unit", NULL, "B KB MB GB KiB MiB GiB"},
    {'o', "output", "FILE", &output, NULL, "Write the report to FILE instead of standard output",
     "report-fd", NULL},
    {0, "report-fd", "N", &report_fd, parse_descriptor,
     "Write the report to the open file descriptor N", "output", NULL},
    {0, "mute", NULL, &mute, NULL, "Discard what the command writes", "pid", NULL},
    {0, "pid", "PID[,PID...]", NULL, parse_pids,
     "Watch processes that are already running, with their children, until they end or Ctrl-C",
     NULL, NULL},
    {0, "save-baseline", "NAME", &save_baseline, NULL, "Keep the peak under NAME",
     "compare-baseline", NULL},
    {0, "compare-baseline", "NAME", &compare_baseline, NULL,
     "Compare the peak with the one kept under NAME; exit with 1 on a regression", "save-baseline",
     NULL},
    {0, "regression-threshold", "PERCENT", &regression_threshold, parse_percent,
     "How much larger a peak may be before it is a regression (default: 10)", NULL, NULL},
    {0, "baseline-dir", "DIR", &baseline_dir, NULL,
     "Where baselines are kept (default: $XDG_CACHE_HOME/tidemark/baselines)", NULL, NULL},
    {0, "list-baselines", NULL, &list_baselines, NULL, "List the baselines, run nothing",
     "save-baseline compare-baseline", NULL},
    {0, "delete-baseline", "NAME", &delete_baseline, NULL, "Delete a baseline, run nothing",
     "save-baseline compare-baseline list-baselines", NULL},
    {0},
};

/* ---- the report ---- */

static void write_report(const struct watch_result *r, const struct baseline *was, FILE *out)
{
    struct run_style style = {.unit = units, .verbose = verbose, .timeline = timeline != NULL};
    struct comparison c = {was, r, regression_threshold};

    if (was && json)
        compare_json(&c, &style, out);
    else if (was && csv)
        compare_csv(&c, out);
    else if (was && quiet)
        compare_quiet(&c, out);
    else if (was)
        compare_text(&c, &style, out);
    else if (json)
        run_report_json(r, &style, out);
    else if (csv)
        run_report_csv(r, out);
    else if (quiet)
        run_report_quiet(r, out);
    else
        run_report_text(r, &style, out);
}

static int deliver(struct run_outputs *o, const struct watch_result *r, const struct baseline *was,
                   struct err *err)
{
    int failed = 0;

    if (output && ftruncate(fileno(o->report), 0) < 0 && errno != EINVAL) /* a pipe has no length */
        failed = 1;
    write_report(r, was, o->report);
    if (o->report == stdout)
        return 0; /* main sees to it */
    failed |= ferror(o->report);
    if (!fclose(o->report) && !failed)
        return 0;
    err_code(err, EXIT_OWN, "cannot write the report to '%s': %s; it follows here",
             output ? output : "the file descriptor", strerror(errno));
    fprintf(stderr, "tidemark: %s\n", err->text);
    write_report(r, was, stderr);
    return err_code(err, EXIT_OWN, "the report above was not written to '%s'",
                    output ? output : "the file descriptor");
}

static int exit_code(const struct watch_result *r, const struct baseline *was)
{
    struct comparison c = {was, r, regression_threshold};

    if (r->threshold_exceeded || (was && compare_regressed(&c)))
        return EXIT_NO;
    if (r->signal)
        return 128 + r->signal;
    return r->exit_code < 0 ? EXIT_OK : r->exit_code;
}

/* ---- the run ---- */

static int run_watched(struct arena *a, char *const *argv, struct run_outputs *o,
                       struct run_baseline *k, struct err *err)
{
    struct watch_options w = {
        .argv = argv,
        .pids = pids,
        .pid_count = pid_count,
        .command = argv ? words_joined(a, argv) : words_of(a, pids[0]),
        .interval_ns = interval_ns,
        .children = !no_children,
        .exact = exact,
        .pss = pss,
        .devices = &devices,
        .mute = mute,
        .keep_points = timeline && json,
        .threshold = threshold,
        .kill_at_threshold = on_threshold && !strcmp(on_threshold, "kill"),
        .store = o->store,
        .redact = redact,
        .context = o,
        .on_tick = watching ? run_outputs_tick : NULL,
        .on_point = timeline ? run_outputs_point : NULL,
        .on_alert = run_outputs_alert,
        .on_pause = watching ? run_outputs_pause : NULL,
    };
    const struct baseline *was = k->compare ? &k->was : NULL;
    struct watch_result result;
    struct err later = {0};
    int failed;

    if (watching)
        live_begin(&o->live, stderr, units);
    failed = watch(&w, a, &result, err);
    live_clear(&o->live);
    if (failed) {
        trace_store_discard(o->store); /* nothing was ever recorded */
        return -1;
    }
    if (trace_store_close(o->store, &later) < 0) /* no failure of the command, nor of its report */
        fprintf(stderr, "tidemark: %s\n", later.text);
    if (run_outputs_close_timeline(o, failed ? &later : err) < 0)
        failed = 1;
    if (k->save && run_baseline_keep(k, a, &result, failed ? &later : err) < 0)
        failed = 1;
    if (deliver(o, &result, was, failed ? &later : err) < 0)
        failed = 1;
    if (failed) {
        err->code = EXIT_OWN;
        return -1;
    }
    return exit_code(&result, was);
}

static int check_use(int operands, struct err *err)
{
    bool nothing = list_baselines || delete_baseline;

    if (nothing && (operands || pid_count))
        return err_code(err, EXIT_USAGE, "--%s takes no command",
                        list_baselines ? "list-baselines" : "delete-baseline");
    if (pid_count && operands)
        return err_code(err, EXIT_USAGE, "--pid watches running processes; it takes no command");
    if (!nothing && !pid_count && !operands)
        return err_code(err, EXIT_USAGE, "give a command to run");
    if (redact && !record)
        return err_code(err, EXIT_USAGE, "--redact needs a --record");
    if (on_threshold && threshold == ABSENT)
        return err_code(err, EXIT_USAGE, "--on-threshold needs a --threshold");
    return 0;
}

static int run(int argc, char **argv, struct err *err)
{
    struct arena arena = {0};
    struct run_outputs outputs = {0};
    struct run_baseline kept = {0};
    int operands = options_parse(options, argc, argv, false, err), status = EXIT_OK;

    if (operands < 0 || check_use(operands, err) < 0)
        return -1;
    outputs = (struct run_outputs){.path = output,
                                   .descriptor = report_fd,
                                   .timeline_path = timeline,
                                   .record = record,
                                   .force = force,
                                   .units = units};
    kept = (struct run_baseline){
        .directory = baseline_dir, .save = save_baseline, .compare = compare_baseline};
    if (list_baselines)
        run_baseline_list(&kept, &arena);
    else if (delete_baseline)
        status = run_baseline_delete(&kept, &arena, delete_baseline, err);
    else if (run_baseline_prepare(&kept, &arena, err) < 0 ||
             run_outputs_open(&outputs, &arena, err) < 0)
        status = -1;
    else
        status = run_watched(&arena, pid_count ? NULL : script_words(&arena, argv + 1, quiet),
                             &outputs, &kept, err);
    arena_free(&arena);
    return status;
}

static const struct command_exit exits[] = {
    {"N", "the command's own exit code"},
    {"128+N", "the command was killed by signal N"},
    {"1", "the threshold was exceeded, or the peak is a regression"},
    {"2", "the options are wrong"},
    {"125", "tidemark itself failed"},
    {"126", "the command was found but cannot be run"},
    {"127", "the command was not found"},
    {NULL, NULL},
};

const struct command cmd_run = {
    .name = "run",
    .operands = "[--] COMMAND [ARGS...]",
    .summary = "Run a command and report how much memory it and its processes used",
    .description =
        "Runs COMMAND and watches it and all its descendants from outside, so it works for any program, statically linked and set-user-id ones too. 'run' itself may be left out: 'tidemark COMMAND' does the same. Options after COMMAND belong to COMMAND.\n\nThe peak of one process is the kernel's own high-water mark, whatever the interval: no spike is missed. The peak of a tree at one moment is exact where that can be proved, and otherwise a lower and an upper bound; the report says which, and why. Orphans and daemons are counted as long as the command runs.\n\nEvery signal that tidemark receives is passed on to the command. As root, the kernel's exit records keep the bounds of a tree close even without --exact.\n\n--exact also samples at the end of every process, which costs programs that start many processes or threads. As root, starting a process takes a few percent longer, and starting a thread up to a third. Otherwise (ptrace) fork and exec take about 1.7 times as long, fork alone 2.5 times and a thread 3 times; no debugger can be used, and a set-user-id program runs without its privilege.",
    .examples =
        "tidemark make -j8\n    the peak of a whole build\ntidemark run -v -o mem.txt -- ./server --port 80\n    report apart from the output\ntidemark run --record run.tide python3 train.py\n    keep it all for 'tidemark report'\ntidemark run -t 2GiB --on-threshold kill ./job\n    end the job when it grows too large\ntidemark run --pid 4711 -w\n    watch a process that is already running\n",
    .options = options,
    .exits = exits,
    .run = run,
};
