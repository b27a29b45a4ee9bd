/* run_compare - a run beside its baseline, for people and for tables; and the CSV of a run. */
#include "report/run_report.h"

#include "base/text.h"
#include "report/csv.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void csv_number(uint64_t number, FILE *out)
{
    if (number != ABSENT)
        fprintf(out, "%" PRIu64, number);
    fputc(',', out);
}

void run_report_csv(const struct watch_result *r, FILE *out)
{
    char stamp[TEXT_STAMP];

    fputs(
        "command,peak_rss_bytes,peak_vsz_bytes,duration_ms,exit_code,threshold_exceeded,timestamp\n",
        out);
    csv_text(r->command, out);
    fputc(',', out);
    csv_number(r->peak_lower, out);
    csv_number(r->peak_vsz, out);
    csv_number(r->duration_ns / 1000000u, out);
    csv_number(r->exit_code < 0 ? ABSENT : (uint64_t)r->exit_code, out);
    fprintf(out, "%s,%s\n", r->threshold_exceeded ? "true" : "false",
            text_stamp(stamp, r->end_real_ns));
}

double compare_percent(uint64_t was, uint64_t now)
{
    if (was == ABSENT || now == ABSENT)
        return NAN;
    return was ? ((double)now - (double)was) / (double)was * 100 : 0;
}

bool compare_regressed(const struct comparison *c)
{
    return compare_percent(c->was->peak_rss, c->now->peak_lower) > c->limit;
}

static void text_change(const char *what, uint64_t was, uint64_t now, const char *unit, FILE *out)
{
    char a[TEXT_SIZE], b[TEXT_SIZE];

    if (was == ABSENT || now == ABSENT)
        fprintf(out, "  Peak %s: n/a\n", what);
    else
        fprintf(out, "  Peak %s: %s → %s (%+.1f%%)\n", what, text_size_in(a, was, unit),
                text_size_in(b, now, unit), compare_percent(was, now));
}

void compare_text(const struct comparison *c, const struct run_style *s, FILE *out)
{
    uint64_t was = c->was->peak_rss, now = c->now->peak_lower, ms = c->now->duration_ns / 1000000u;
    char size[TEXT_SIZE];

    fprintf(out, "Command: %s\n\nBaseline vs Current:\n", c->now->command);
    text_change("RSS", was, now, s->unit, out);
    if (was != now)
        fprintf(out, "  Absolute %s: %s\n", now > was ? "increase" : "decrease",
                text_size_in(size, now > was ? now - was : was - now, s->unit));
    fputc('\n', out);
    text_change("VSZ", c->was->peak_vsz, c->now->peak_vsz, s->unit, out);
    fprintf(out, "\n  Duration: %.1fs → %.1fs (%+.1f%%)\n\n", (double)c->was->duration_ms / 1e3,
            (double)ms / 1e3, compare_percent(c->was->duration_ms, ms));
    if (compare_regressed(c))
        fprintf(out, "❌ REGRESSION DETECTED: Memory usage increased by %.1f%%\n",
                compare_percent(was, now));
    else
        fputs("✅ No regression detected\n", out);
    if (c->now->threshold_exceeded)
        fputs("\n⚠️  THRESHOLD EXCEEDED\n", out);
}

static void csv_change(uint64_t was, uint64_t now, FILE *out)
{
    if (was == ABSENT || now == ABSENT)
        fputs(",,", out);
    else
        fprintf(out, "%" PRId64 ",%.2f,", (int64_t)(now - was), compare_percent(was, now));
}

void compare_csv(const struct comparison *c, FILE *out)
{
    const struct baseline *was = c->was;
    const struct watch_result *now = c->now;
    uint64_t ms = now->duration_ns / 1000000u;

    fputs("baseline_command,baseline_rss_bytes,baseline_vsz_bytes,baseline_duration_ms,"
          "current_command,current_rss_bytes,current_vsz_bytes,current_duration_ms,"
          "rss_diff_bytes,rss_diff_percent,vsz_diff_bytes,vsz_diff_percent,"
          "duration_diff_ms,duration_diff_percent,regression_detected\n",
          out);
    csv_text(was->command, out);
    fputc(',', out);
    csv_number(was->peak_rss, out);
    csv_number(was->peak_vsz, out);
    csv_number(was->duration_ms, out);
    csv_text(now->command, out);
    fputc(',', out);
    csv_number(now->peak_lower, out);
    csv_number(now->peak_vsz, out);
    csv_number(ms, out);
    csv_change(was->peak_rss, now->peak_lower, out);
    csv_change(was->peak_vsz, now->peak_vsz, out);
    csv_change(was->duration_ms, ms, out);
    fputs(compare_regressed(c) ? "true\n" : "false\n", out);
}

void compare_quiet(const struct comparison *c, FILE *out)
{
    fputs(compare_regressed(c) ? "regression\n" : "ok\n", out);
}
