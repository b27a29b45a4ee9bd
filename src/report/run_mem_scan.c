/* run_mem_scan - see run_mem_scan.h. */
#include "report/run_mem_scan.h"

#include "base/clock.h"
#include "base/emit.h"
#include "report/devices_report.h"
#include "report/terminal.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define GIB (1024.0 * 1024 * 1024)
#define WIDTH 60
#define ROOM 32

static void line(char c, FILE *out)
{
    for (int i = 0; i < WIDTH; i++)
        fputc(c, out);
    fputc('\n', out);
}

/* As few decimals as say it, but one at least. */
static const char *decimal(char text[ROOM], double value, int most)
{
    size_t end;

    snprintf(text, ROOM, "%.*f", most, value);
    for (end = strlen(text); end > 2 && text[end - 1] == '0' && text[end - 2] != '.'; end--)
        text[end - 1] = '\0';
    return text;
}

void run_mem_scan_begin(const char *command, const char *gpu, uint64_t interval_ns, FILE *out)
{
    char text[ROOM];

    fputs("Starting memory monitoring for: ", out);
    terminal_put(out, command);
    fprintf(out, "\nGPU ID: %s, Interval: %ss\n", gpu,
            decimal(text, (double)interval_ns / (double)CLOCK_SECOND_NS, 6));
    line('-', out);
}

static const struct watch_range *device_of(const struct watch_result *r)
{
    static const struct watch_range none;
    const struct watch_device *d = devices_report_first(r);

    return d ? &d->used : &none;
}

static double average(const struct watch_range *r)
{
    return r->count ? r->sum / (double)r->count : NAN;
}

static int return_code(const struct watch_result *r)
{
    return r->signal ? -r->signal : r->exit_code;
}

static void write_one(const char *what, bool known, double bytes, FILE *out)
{
    char text[ROOM];

    if (known)
        fprintf(out, "  %s %s GB\n", what, decimal(text, bytes / GIB, 2));
    else
        fprintf(out, "  %s n/a\n", what);
}

static void write_range(const char *what, const struct watch_range *r, FILE *out)
{
    fprintf(out, "\n%s Memory Usage:\n", what);
    write_one("Peak:", r->count, (double)r->most, out);
    write_one("Min: ", r->count, (double)r->least, out);
    write_one("Avg: ", r->count, average(r), out);
}

void run_mem_scan_text(const struct watch_result *r, FILE *out)
{
    const struct watch_device *d = devices_report_first(r);

    fputc('\n', out);
    line('=', out);
    fputs("MEMORY USAGE REPORT\n", out);
    line('=', out);
    fprintf(out, "Execution Time: %.2f seconds\nReturn Code: %d\n", (double)r->duration_ns / 1e9,
            return_code(r));
    write_range("GPU", device_of(r), out);
    write_range("Host", &r->host, out);
    fputs("\nOf these, this command's own (peak):\n", out);
    write_one("GPU: ", d && d->ours.count, d ? (double)d->ours.most : 0, out);
    write_one("Host:", true, (double)r->peak_lower, out);
}

static void put_gib(struct emit *j, const char *key, bool known, double bytes)
{
    emit_key(j, key);
    emit_real(j, known ? (double)(uint64_t)(bytes / GIB * 100 + 0.5) / 100 : NAN);
}

static void put_range(struct emit *j, const char *name, const struct watch_range *r)
{
    char key[ROOM];

    snprintf(key, sizeof(key), "%s_peak_gb", name);
    put_gib(j, key, r->count, (double)r->most);
    snprintf(key, sizeof(key), "%s_min_gb", name);
    put_gib(j, key, r->count, (double)r->least);
    snprintf(key, sizeof(key), "%s_avg_gb", name);
    put_gib(j, key, r->count, average(r));
}

/* Here, and by its clock. */
static void put_date(struct emit *j, uint64_t real_ns)
{
    time_t seconds = (time_t)(real_ns / CLOCK_SECOND_NS);
    struct tm date;
    char text[ROOM] = "";

    if (localtime_r(&seconds, &date))
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &date);
    emit_key(j, "timestamp");
    emit_text(j, text);
}

void run_mem_scan_json(const struct watch_result *r, FILE *out)
{
    struct emit j = {.out = out};

    emit_open(&j, '{');
    emit_key(&j, "execution_time");
    emit_real(&j, (double)r->duration_ns / 1e9);
    emit_key(&j, "return_code");
    emit_signed(&j, return_code(r));
    emit_key(&j, "memory_usage");
    emit_open(&j, '{');
    put_range(&j, "gpu", device_of(r));
    put_range(&j, "host", &r->host);
    emit_close(&j, '}');
    emit_key(&j, "command");
    emit_text(&j, r->command);
    put_date(&j, r->end_real_ns);
    emit_key(&j, "peak_rss_bytes");
    emit_number(&j, r->peak_lower);
    devices_report_json(&j, r);
    emit_close(&j, '}');
}
