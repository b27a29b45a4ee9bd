/* run_json - the report of a run for programs. Keys are only added, after the old ones. */
#include "report/run_report.h"

#include "base/text.h"
#include "report/devices_report.h"
#include "report/run_tree.h"

#include <inttypes.h>
#include <math.h>

#define GIB (1024.0 * 1024 * 1024)

static void put_number(struct emit *j, const char *key, uint64_t value)
{
    emit_key(j, key);
    if (value == ABSENT)
        emit_null(j);
    else
        emit_number(j, value);
}

static void put_text(struct emit *j, const char *key, const char *text)
{
    emit_key(j, key);
    emit_text(j, text);
}

static void put_bool(struct emit *j, const char *key, bool value)
{
    emit_key(j, key);
    emit_bool(j, value);
}

static void put_real(struct emit *j, const char *key, double value)
{
    emit_key(j, key);
    emit_real(j, value);
}

static void put_stamp(struct emit *j, const char *key, uint64_t real_ns)
{
    char stamp[TEXT_STAMP];

    put_text(j, key, text_stamp(stamp, real_ns));
}

void run_report_point(struct emit *j, const struct watch_point *p)
{
    emit_open(j, '{');
    put_number(j, "rss_bytes", p->rss);
    put_number(j, "vsz_bytes", p->vsz);
    put_stamp(j, "timestamp", p->real_ns);
    emit_close(j, '}');
}

static void put_process(struct emit *j, const struct watch_result *r, const struct run_tree *t,
                        int index)
{
    const struct watch_process *p = &r->processes[index];

    emit_open(j, '{');
    put_number(j, "pid", (uint64_t)p->pid);
    put_text(j, "name", p->name);
    emit_key(j, "memory");
    emit_open(j, '{');
    put_number(j, "rss_bytes", p->peak_rss);
    put_number(j, "vsz_bytes", p->peak_vsz);
    put_stamp(j, "timestamp", p->peak_rss == ABSENT ? r->end_real_ns : p->peak_real_ns);
    emit_close(j, '}');
    emit_key(j, "children");
    emit_open(j, '[');
    for (int i = t->first[index + 1]; i >= 0; i = t->next[i])
        put_process(j, r, t, i);
    emit_close(j, ']');
    put_bool(j, "rss_exact", !p->more && p->peak_rss != ABSENT);
    emit_close(j, '}');
}

static double average(const struct watch_range *r)
{
    return r->count ? r->sum / (double)r->count : NAN;
}

/* In GiB with two decimals; null: it was never read. */
static void put_gib(struct emit *j, const char *key, bool known, double bytes)
{
    put_real(j, key, known ? (double)(uint64_t)(bytes / GIB * 100 + 0.5) / 100 : NAN);
}

/* Of the whole host, and of one whole device. */
static void put_host(struct emit *j, const struct watch_result *r)
{
    static const struct watch_range none;
    const struct watch_device *first = devices_report_first(r);
    const struct watch_range *host = &r->host, *device = first ? &first->used : &none;

    emit_key(j, "memory_usage");
    emit_open(j, '{');
    put_gib(j, "gpu_peak_gb", device->count, (double)device->most);
    put_gib(j, "gpu_min_gb", device->count, (double)device->least);
    put_gib(j, "gpu_avg_gb", device->count, average(device));
    put_gib(j, "host_peak_gb", host->count, (double)host->most);
    put_gib(j, "host_min_gb", host->count, (double)host->least);
    put_gib(j, "host_avg_gb", host->count, average(host));
    emit_close(j, '}');
}

static void put_alerts(struct emit *j, const struct watch_result *r)
{
    emit_key(j, "alerts");
    emit_open(j, '[');
    for (size_t i = 0; i < r->alert_count; i++) {
        const struct watch_alert *a = &r->alerts[i];

        emit_open(j, '{');
        put_real(j, "elapsed_seconds", (double)a->elapsed_ns / 1e9);
        put_number(j, "threshold_bytes", a->limit);
        put_number(j, "rss_bytes", a->total);
        put_number(j, "processes", (uint64_t)a->processes);
        put_number(j, "largest_pid", a->pid ? (uint64_t)a->pid : ABSENT);
        put_text(j, "largest_name", a->pid ? a->name : NULL);
        put_number(j, "largest_rss_bytes", a->pid ? a->rss : ABSENT);
        put_bool(j, "between_samples", a->between);
        emit_close(j, '}');
    }
    emit_close(j, ']');
}

static void put_status(struct emit *j, const struct watch_result *r)
{
    emit_key(j, "signal");
    if (r->signal)
        emit_signed(j, r->signal);
    else
        emit_null(j);
    put_real(j, "execution_time", (double)r->duration_ns / 1e9);
    emit_key(j, "return_code");
    if (r->ended)
        emit_signed(j, r->signal ? -r->signal : r->exit_code);
    else
        emit_null(j);
}

static void put_beyond(struct emit *j, const struct watch_result *r)
{
    put_status(j, r);
    put_host(j, r);
    put_bool(j, "peak_rss_exact", r->peak_exact);
    put_number(j, "peak_rss_lower_bytes", r->peak_at_most ? ABSENT : r->peak_lower);
    put_number(j, "peak_rss_upper_bytes", r->peak_upper);
    put_text(j, "peak_basis", r->peak_basis);
    put_text(j, "peak_method", r->method);
    put_number(j, "min_rss_bytes", r->rss.count ? r->rss.least : ABSENT);
    put_number(j, "avg_rss_bytes",
               r->rss.count ? text_rounded(r->rss.sum / (double)r->rss.count) : ABSENT);
    put_number(j, "peak_pss_bytes", r->peak_pss);
    put_number(j, "process_count", r->process_count);
    put_number(j, "outlived", (uint64_t)r->outlived);
    put_bool(j, "oom_killed", r->oom_killed);
    put_real(j, "cpu_user_seconds", (double)r->user_ns / 1e9);
    put_real(j, "cpu_system_seconds", (double)r->system_ns / 1e9);
    put_number(j, "minor_faults", r->minor_faults);
    put_number(j, "major_faults", r->major_faults);
    put_number(j, "cgroup_peak_bytes", r->cgroup_peak);
    put_alerts(j, r);
    devices_report_json(j, r);
}

static void put_result(struct emit *j, const struct watch_result *r, const struct run_style *s)
{
    emit_open(j, '{');
    put_text(j, "command", r->command);
    put_number(j, "peak_rss_bytes", r->peak_lower);
    put_number(j, "peak_vsz_bytes", r->peak_vsz);
    put_number(j, "duration_ms", r->duration_ns / 1000000u);
    put_number(j, "exit_code", r->exit_code < 0 ? ABSENT : (uint64_t)r->exit_code);
    put_bool(j, "threshold_exceeded", r->threshold_exceeded);
    put_stamp(j, "timestamp", r->end_real_ns);
    if (s->verbose && r->process_count) {
        struct run_tree tree;

        run_tree_make(&tree, r);
        emit_key(j, "process_tree");
        put_process(j, r, &tree, 0);
        run_tree_free(&tree);
    }
    if (s->timeline) {
        emit_key(j, "timeline");
        emit_open(j, '[');
        for (size_t i = 0; i < r->point_count; i++)
            run_report_point(j, &r->points[i]);
        emit_close(j, ']');
    }
    if (s->verbose) {
        put_stamp(j, "start_time", r->start_real_ns);
        put_number(j, "sample_count", r->samples);
        put_number(j, "main_pid", (uint64_t)r->main_pid);
    }
    put_beyond(j, r);
    emit_close(j, '}');
}

void run_report_json(const struct watch_result *r, const struct run_style *s, FILE *out)
{
    struct emit j = {.out = out};

    put_result(&j, r, s);
    fputc('\n', out);
}

void baseline_json(struct emit *j, const struct baseline *b)
{
    emit_open(j, '{');
    put_text(j, "version", b->version);
    put_text(j, "created_at", b->created_at);
    put_text(j, "command", b->command);
    put_number(j, "peak_rss_bytes", b->peak_rss);
    put_number(j, "peak_vsz_bytes", b->peak_vsz);
    put_number(j, "duration_ms", b->duration_ms);
    emit_key(j, "metadata");
    emit_open(j, '{');
    put_text(j, "platform", b->platform);
    put_text(j, "arch", b->arch);
    if (b->main_pid >= 0)
        put_number(j, "main_pid", (uint64_t)b->main_pid);
    emit_close(j, '}');
    emit_close(j, '}');
}

static void put_difference(struct emit *j, const char *name, const char *unit, uint64_t was,
                           uint64_t now)
{
    char key[40];

    snprintf(key, sizeof(key), "%s_diff_%s", name, unit);
    emit_key(j, key);
    if (was == ABSENT || now == ABSENT)
        emit_null(j);
    else
        emit_signed(j, (int64_t)(now - was));
    snprintf(key, sizeof(key), "%s_diff_percent", name);
    put_real(j, key, compare_percent(was, now));
}

void compare_json(const struct comparison *c, const struct run_style *s, FILE *out)
{
    struct emit j = {.out = out};

    emit_open(&j, '{');
    emit_key(&j, "baseline");
    baseline_json(&j, c->was);
    emit_key(&j, "current");
    put_result(&j, c->now, s);
    put_difference(&j, "rss", "bytes", c->was->peak_rss, c->now->peak_lower);
    put_difference(&j, "vsz", "bytes", c->was->peak_vsz, c->now->peak_vsz);
    put_difference(&j, "duration", "ms", c->was->duration_ms, c->now->duration_ns / 1000000u);
    put_bool(&j, "regression_detected", compare_regressed(c));
    emit_close(&j, '}');
    fputc('\n', out);
}
