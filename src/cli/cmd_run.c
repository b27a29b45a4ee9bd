/* run - start a command, watch it and all its processes from outside, say what they used.
 *
 * Everything that can be wrong with the options, the files and the baselines is found before the
 * command starts. What was measured is never thrown away: a report that cannot be written where it
 * should be goes to standard error.
 */
#include "base/text.h"
#include "cli/baseline.h"
#include "cli/command.h"
#include "cli/words.h"
#include "report/live.h"
#include "report/run_report.h"
#include "watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PIDS_MOST 64
#define FLUSH_NS 1000000000u

static bool json, csv, quiet, verbose, watching, no_children, mute, exact, pss, list_baselines;
static const char *timeline, *units, *save_baseline, *compare_baseline, *baseline_dir,
    *delete_baseline, *output, *record, *on_threshold;
static uint64_t threshold = ABSENT, interval_ns = 100000000u, report_fd = ABSENT;
static double regression_threshold = 10.0;
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
    {0, "interval", "TIME", &interval_ns, parse_interval,
     "Time between samples: 100 (ms), 50ms, 0.05s; 100 ms when not given", NULL, NULL},
    {0, "exact", NULL, &exact, NULL,
     "See every process at its end, however short it lives: by the kernel's exit records as root, "
     "else by stopping each process at its birth and exit (ptrace)",
     "pid", NULL},
    {0, "pss", NULL, &pss, NULL,
     "Add proportional sizes, the only right sum where processes share memory; takes at most 1 % of "
     "the time",
     NULL, NULL},
    {0, "units", "UNIT", &units, NULL, "Show sizes in this unit", NULL, "B KB MB GB KiB MiB GiB"},
    {'o', "output", "FILE", &output, NULL, "Write the report to FILE instead of standard output",
     "report-fd", NULL},
    {0, "report-fd", "N", &report_fd, parse_descriptor,
     "Write the report to the open file descriptor N", "output", NULL},
    {0, "mute", NULL, &mute, NULL, "Discard what the command writes", "pid", NULL},
    {0, "pid", "PID[,PID...]", NULL, parse_pids,
     "Watch processes that already run, with their children, until they end or Ctrl-C", NULL, NULL},
    {0, "save-baseline", "NAME", &save_baseline, NULL, "Keep the peak under NAME",
     "compare-baseline", NULL},
    {0, "compare-baseline", "NAME", &compare_baseline, NULL,
     "Compare the peak with the one kept under NAME; exit with 1 on a regression", "save-baseline",
     NULL},
    {0, "regression-threshold", "PERCENT", &regression_threshold, parse_percent,
     "How much larger a peak may be before it is a regression; 10 when not given", NULL, NULL},
    {0, "baseline-dir", "DIR", &baseline_dir, NULL,
     "Where baselines are kept; $XDG_CACHE_HOME/tidemark/baselines when not given", NULL, NULL},
    {0, "list-baselines", NULL, &list_baselines, NULL, "List the baselines, run nothing",
     "save-baseline compare-baseline", NULL},
    {0, "delete-baseline", "NAME", &delete_baseline, NULL, "Delete a baseline, run nothing",
     "save-baseline compare-baseline list-baselines", NULL},
    {0},
};

/* ---- where things go ---- */

struct outputs {
    FILE *report;
    FILE *timeline;
    struct emit points; /* the timeline as JSON */
    bool timeline_csv;
    uint64_t flushed_ns;
    struct trace_store *store;
    struct live live;
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

static int cannot_write(const char *path, struct err *err)
{
    return err_code(err, EXIT_OWN, "cannot write '%s': %s", path, strerror(errno));
}

/* Opened now, so that a mistake shows before the command runs; emptied only when it is written. */
static FILE *open_report(struct err *err)
{
    FILE *out = stdout;

    if (output && strcmp(output, "-")) {
        int fd = open(output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

        out = fd < 0 ? NULL : fdopen(fd, "w");
        if (!out)
            cannot_write(output, err);
    } else if (report_fd != ABSENT) {
        if (report_fd > STDERR_FILENO) /* not for the command */
            fcntl((int)report_fd, F_SETFD, FD_CLOEXEC);
        out = fdopen((int)report_fd, "w");
        if (!out)
            err_code(err, EXIT_USAGE, "the file descriptor %" PRIu64 " cannot be written to",
                     report_fd);
    }
    return out;
}

static int open_outputs(struct outputs *o, struct err *err)
{
    o->report = open_report(err);
    if (!o->report)
        return -1;
    if (timeline) {
        o->timeline = fopen(timeline, "we");
        if (!o->timeline)
            return cannot_write(timeline, err);
        o->timeline_csv = ends_with(timeline, ".csv");
        o->points.out = o->timeline;
        if (o->timeline_csv)
            fputs("timestamp,rss_bytes,vsz_bytes\n", o->timeline);
        else
            emit_open(&o->points, '[');
    }
    if (record) {
        o->store = trace_store_create(record, err);
        if (!o->store) {
            err->code = EXIT_OWN;
            return -1;
        }
    }
    return 0;
}

static void on_point(void *context, const struct watch_point *p)
{
    struct outputs *o = context;
    char stamp[TEXT_STAMP];

    if (o->timeline_csv)
        fprintf(o->timeline, "%s,%" PRIu64 ",%" PRIu64 "\n", text_stamp(stamp, p->real_ns), p->rss,
                p->vsz);
    else
        run_report_point(&o->points, p);
    if (p->real_ns > o->flushed_ns + FLUSH_NS) { /* a killed tool leaves all but the last second */
        fflush(o->timeline);
        o->flushed_ns = p->real_ns;
    }
}

static int close_timeline(struct outputs *o, struct err *err)
{
    int failed;

    if (!o->timeline)
        return 0;
    if (!o->timeline_csv)
        emit_close(&o->points, ']');
    failed = ferror(o->timeline);
    if (fclose(o->timeline) || failed)
        return cannot_write(timeline, err);
    return 0;
}

static void on_alert(void *context, const struct watch_alert *a)
{
    char limit[TEXT_SIZE], total[TEXT_SIZE], rss[TEXT_SIZE], largest[128] = "";

    (void)context;
    if (a->pid)
        snprintf(largest, sizeof(largest), ", largest %s (PID %d) with %s", a->name, a->pid,
                 text_size_in(rss, a->rss, units));
    fprintf(stderr, "tidemark: threshold of %s exceeded %s %.1f s: total of %d process%s is %s%s\n",
            text_size_in(limit, a->limit, units), a->between ? "at some moment within" : "after",
            (double)a->elapsed_ns / 1e9, a->processes, a->processes == 1 ? "" : "es",
            text_size_in(total, a->total, units), largest);
}

static void on_tick(void *context, const struct watch_view *v)
{
    live_draw(&((struct outputs *)context)->live, v);
}

static void on_pause(void *context, bool paused)
{
    if (paused)
        live_clear(&((struct outputs *)context)->live);
}

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

static int deliver(struct outputs *o, const struct watch_result *r, const struct baseline *was,
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

static int keep_baseline(struct arena *a, const struct watch_result *r, const char *path,
                         struct err *err)
{
    char stamp[TEXT_STAMP];
    struct utsname system = {.machine = "unknown"};
    struct baseline b = {
        .version = TIDEMARK_VERSION,
        .created_at = text_stamp(stamp, r->end_real_ns),
        .command = r->command,
        .peak_rss = r->peak_lower,
        .peak_vsz = r->peak_vsz,
        .duration_ms = r->duration_ns / 1000000u,
        .platform = "linux",
        .main_pid = r->main_pid,
    };

    uname(&system);
    b.arch = arena_printf(a, "%s", system.machine);
    if (baseline_save(path, &b, err) < 0)
        return -1;
    fprintf(stderr, "Baseline '%s' saved to: %s\n", save_baseline, path);
    return 0;
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

/* ---- the commands that run nothing ---- */

static int show_baselines(struct arena *a)
{
    const char **names;
    size_t count = baseline_list(a, baseline_directory(a, baseline_dir), &names);

    puts(count ? "Saved baselines:" : "No baselines found.");
    for (size_t i = 0; i < count; i++)
        printf("  %s\n", names[i]);
    return EXIT_OK;
}

static int remove_baseline(struct arena *a, struct err *err)
{
    const char *path = baseline_path(a, baseline_directory(a, baseline_dir), delete_baseline, err);

    if (!path)
        return -1;
    if (unlink(path) < 0)
        return err_set(err, "cannot delete the baseline '%s' (%s): %s", delete_baseline, path,
                       strerror(errno));
    printf("Baseline '%s' deleted.\n", delete_baseline);
    return EXIT_OK;
}

/* ---- the run ---- */

/* The baseline side of a run: what it is compared with, where it will be kept. */
struct kept {
    struct baseline was;
    const char *save_path; /* NULL: nowhere */
};

static int prepare_baselines(struct arena *a, struct kept *k, struct err *err)
{
    const char *directory = baseline_directory(a, baseline_dir);
    const char *name = save_baseline ? save_baseline : compare_baseline, *path;

    k->save_path = NULL;
    if (!name)
        return 0;
    path = baseline_path(a, directory, name, err);
    if (!path)
        return -1;
    if (compare_baseline)
        return baseline_load(a, path, name, &k->was, err);
    k->save_path = path;
    return baseline_prepare(directory, err);
}

static int run_watched(struct arena *a, char *const *argv, struct outputs *o, struct kept *k,
                       struct err *err)
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
        .mute = mute,
        .keep_points = timeline && json,
        .threshold = threshold,
        .kill_at_threshold = on_threshold && !strcmp(on_threshold, "kill"),
        .store = o->store,
        .context = o,
        .on_tick = watching ? on_tick : NULL,
        .on_point = timeline ? on_point : NULL,
        .on_alert = on_alert,
        .on_pause = watching ? on_pause : NULL,
    };
    const struct baseline *was = compare_baseline ? &k->was : NULL;
    struct watch_result result;
    struct err later = {0};
    int failed;

    if (watching)
        live_begin(&o->live, stderr, units);
    failed = watch(&w, a, &result, err);
    live_clear(&o->live);
    if (trace_store_close(o->store, failed ? &later : err) < 0 && !failed)
        failed = 1; /* said at the end; the rest of the result is still delivered */
    if (failed < 0)
        return -1;
    if (close_timeline(o, failed ? &later : err) < 0)
        failed = 1;
    if (k->save_path && keep_baseline(a, &result, k->save_path, failed ? &later : err) < 0)
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
        return err_code(err, EXIT_USAGE, "--pid watches processes that run; it takes no command");
    if (!nothing && !pid_count && !operands)
        return err_code(err, EXIT_USAGE, "give a command to run");
    if (on_threshold && threshold == ABSENT)
        return err_code(err, EXIT_USAGE, "--on-threshold needs a --threshold");
    return 0;
}

static int run(int argc, char **argv, struct err *err)
{
    struct arena arena = {0};
    struct outputs outputs = {0};
    struct kept kept = {0};
    int operands = options_parse(options, argc, argv, false, err), status;

    if (operands < 0 || check_use(operands, err) < 0)
        return -1;
    if (list_baselines)
        status = show_baselines(&arena);
    else if (delete_baseline)
        status = remove_baseline(&arena, err);
    else if (prepare_baselines(&arena, &kept, err) < 0 || open_outputs(&outputs, err) < 0)
        status = -1;
    else
        status = run_watched(&arena, pid_count ? NULL : argv + 1, &outputs, &kept, err);
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
    .summary = "run a command and say how much memory it and its processes used",
    .description =
        "Runs COMMAND and watches it and all its descendants from outside, so it works for any "
        "program, statically linked and set-user-id ones too. 'run' itself may be left out: "
        "'tidemark COMMAND' does the same. Options after COMMAND belong to COMMAND.\n\n"
        "The peak of one process is the kernel's own high-water mark, whatever the interval: no "
        "spike is missed. The peak of a tree at one moment is exact where it can be proved, else a "
        "lower and an upper bound; the report says which, and why. Orphans and daemons are "
        "counted as long as the command runs.\n\n"
        "Every signal that tidemark gets is handed to the command. With --exact the cost is paid "
        "by programs that start many processes or threads: as root (exit records) starting a "
        "process costs a few percent more and starting a thread up to a third; otherwise (ptrace) "
        "fork and exec take about 1.7 times as long, fork alone 2.5 times and a thread 3 times, "
        "other debuggers are kept out, and a set-user-id program runs without its privilege.",
    .examples =
        "tidemark make -j8\n    the peak of a whole build\n"
        "tidemark run -v -o mem.txt -- ./server --port 80\n    report apart from the output\n"
        "tidemark run --record run.tide python3 train.py\n    keep it all for 'tidemark report'\n"
        "tidemark run -t 2GiB --on-threshold kill ./job\n    end the job when it grows too large\n"
        "tidemark run --pid 4711 -w\n    watch a process that already runs\n",
    .options = options,
    .exits = exits,
    .run = run,
};
