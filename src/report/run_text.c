/* run_text - the report of a run for people. The first lines are those that scripts know. */
#include "report/run_report.h"

#include "base/text.h"
#include "report/devices_report.h"
#include "report/run_tree.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <string.h>

#define SIBLINGS_SHOWN 20

static const char *size_of(const struct run_style *s, uint64_t bytes, char out[TEXT_SIZE])
{
    return bytes == ABSENT ? "n/a" : text_size_in(out, bytes, s->unit);
}

static double seconds(const struct watch_result *r)
{
    return (double)r->duration_ns / 1e9;
}

static void write_signal(const struct watch_result *r, FILE *out)
{
    const char *name = sigabbrev_np(r->signal);

    fprintf(out, "Killed by signal: %d (SIG%s)%s\n", r->signal, name ? name : "?",
            r->oom_killed ? ", out of memory" : "");
}

static void write_basis(const struct watch_result *r, const struct run_style *s, FILE *out)
{
    const char *vsz = r->peak_vsz == ABSENT ? "" : "; VSZ is the largest that was read";
    char a[TEXT_SIZE], b[TEXT_SIZE];

    if (r->peak_exact)
        fprintf(out, "Peak is exact: %s%s\n", r->peak_basis, vsz);
    else if (r->peak_at_most)
        fprintf(out, "Peak is at most %s: %s%s\n", size_of(s, r->peak_lower, a), r->peak_basis,
                vsz);
    else if (r->peak_upper == ABSENT)
        fprintf(out, "Peak is at least %s: %s%s\n", size_of(s, r->peak_lower, a), r->peak_basis,
                vsz);
    else
        fprintf(out, "Peak is at least %s and at most %s: %s%s\n", size_of(s, r->peak_lower, a),
                size_of(s, r->peak_upper, b), r->peak_basis, vsz);
}

/* What goes beyond a plain peak, where it was asked for or happened. */
static void write_more(const struct watch_result *r, const struct run_style *s, FILE *out)
{
    char a[TEXT_SIZE];

    write_basis(r, s, out);
    if (r->peak_pss != ABSENT)
        fprintf(out, "Peak proportional size: %s (PSS, sampled %" PRIu64 " times)\n",
                size_of(s, r->peak_pss, a), r->pss_rounds);
    if (r->cgroup_peak != ABSENT)
        fprintf(out, "Control group peak: %s (with page cache)\n", size_of(s, r->cgroup_peak, a));
    if (r->outlived)
        fprintf(out, "Still running: %d process%s that the command left behind\n", r->outlived,
                r->outlived == 1 ? "" : "es");
    if (r->threshold_exceeded)
        fputs("\n⚠️  THRESHOLD EXCEEDED\n", out);
}

static void put_command(const struct watch_result *r, FILE *out)
{
    fputs("Command: ", out);
    terminal_put(out, r->command);
    fputc('\n', out);
}

static void write_brief(const struct watch_result *r, const struct run_style *s, FILE *out)
{
    char rss[TEXT_SIZE], vsz[TEXT_SIZE];

    put_command(r, out);
    fprintf(out, "Peak memory usage: %s (RSS) / %s (VSZ)\n", size_of(s, r->peak_lower, rss),
            size_of(s, r->peak_vsz, vsz));
    if (r->signal)
        write_signal(r, out);
    else if (r->ended)
        fprintf(out, "Exit code: %d\n", r->exit_code);
    fprintf(out, "Duration: %.1fs\n", seconds(r));
    write_more(r, s, out);
    devices_report_text(r, s, out);
}

/* ---- the tree ---- */

struct tree_view {
    const struct watch_result *r;
    const struct run_style *s;
    struct run_tree tree;
    FILE *out;
};

static void write_children(const struct tree_view *v, int parent, const char *prefix)
{
    char deeper[256], size[TEXT_SIZE];
    int shown = 0;

    for (int i = v->tree.first[parent + 1]; i >= 0; i = v->tree.next[i]) {
        bool last = v->tree.next[i] < 0;

        if (shown++ == SIBLINGS_SHOWN && !last) {
            int left = 0;

            for (int k = i; k >= 0; k = v->tree.next[k])
                left++;
            fprintf(v->out, "%s└── and %d more, each at most %s\n", prefix, left,
                    size_of(v->s, v->r->processes[i].peak_rss, size));
            return;
        }
        if (parent >= 0)
            fprintf(v->out, "%s%s ", prefix, last ? "└──" : "├──");
        terminal_put(v->out, v->r->processes[i].name);
        fprintf(v->out, " (PID: %d) - Peak: %s\n", v->r->processes[i].pid,
                size_of(v->s, v->r->processes[i].peak_rss, size));
        snprintf(deeper, sizeof(deeper), "%.240s%s", prefix,
                 parent < 0 ? ""
                 : last     ? "    "
                            : "│   ");
        write_children(v, i, deeper);
    }
}

static void write_tree(const struct watch_result *r, const struct run_style *s, FILE *out)
{
    struct tree_view v = {.r = r, .s = s, .out = out};

    run_tree_make(&v.tree, r);
    write_children(&v, -1, "");
    run_tree_free(&v.tree);
}

/* A process that another one waits for takes its last mark with it. */
static void write_unseen(const struct watch_result *r, FILE *out)
{
    size_t count = 0;

    for (size_t i = 0; i < r->process_count; i++)
        count += r->processes[i].more;
    if (count && r->children)
        fprintf(out,
                "In the tree the peak of %zu process%s is at least the one shown: it ended "
                "unseen; --exact sees it\n",
                count, count == 1 ? "" : "es");
}

static void write_peak(const char *what, uint64_t bytes, const struct run_style *s, FILE *out)
{
    char size[TEXT_SIZE];

    fprintf(out, "  Peak %s: %s", what, size_of(s, bytes, size));
    if (bytes != ABSENT)
        fprintf(out, " (%" PRIu64 " bytes)", bytes);
    fputc('\n', out);
}

static void write_verbose(const struct watch_result *r, const struct run_style *s, FILE *out)
{
    char date[TEXT_STAMP];

    put_command(r, out);
    fprintf(out, "Started: %s UTC\n", text_date(date, r->start_real_ns));
    fprintf(out, "Process ID: %d\n", r->main_pid);
    fprintf(out, "\nMemory Usage:\n");
    write_peak("RSS", r->peak_lower, s, out);
    write_peak("VSZ", r->peak_vsz, s, out);
    if (r->children) {
        fprintf(out, "\nProcess Tree: (%zu processes monitored)\n", r->process_count);
        write_tree(r, s, out);
    } else {
        fprintf(out, "\nProcess Tree: (monitoring disabled with --no-children)\n");
    }
    fprintf(out, "\nPerformance:\n");
    fprintf(out, "  Duration: %.3fs\n", seconds(r));
    fprintf(out, "  Samples collected: %" PRIu64 "\n", r->samples);
    if (r->samples)
        fprintf(out, "  Effective sample interval: %" PRIu64 "ms\n",
                r->duration_ns / 1000000u / r->samples);
    fprintf(out, "  CPU time: %.3fs user, %.3fs system\n", (double)r->user_ns / 1e9,
            (double)r->system_ns / 1e9);
    if (r->signal) {
        fputc('\n', out);
        write_signal(r, out);
    } else if (r->ended) {
        fprintf(out, "\nExit Status: %d (%s)\n", r->exit_code, r->exit_code ? "failed" : "success");
    }
    fputc('\n', out);
    write_more(r, s, out);
    write_unseen(r, out);
    devices_report_text(r, s, out);
}

void run_report_text(const struct watch_result *r, const struct run_style *s, FILE *out)
{
    if (s->verbose)
        write_verbose(r, s, out);
    else
        write_brief(r, s, out);
}

void run_report_quiet(const struct watch_result *r, FILE *out)
{
    fprintf(out, "%" PRIu64 "\n", r->peak_lower);
}
