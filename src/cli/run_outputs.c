/* run_outputs - see run_outputs.h. */
#include "cli/run_outputs.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/tracefile.h"
#include "report/run_report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_NS CLOCK_SECOND_NS

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
static FILE *open_report(const struct run_outputs *o, struct err *err)
{
    FILE *out = stdout;

    if (o->path && strcmp(o->path, "-")) {
        int fd = open(o->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

        out = fd < 0 ? NULL : fdopen(fd, "w");
        if (!out)
            cannot_write(o->path, err);
    } else if (o->descriptor != ABSENT) {
        if (o->descriptor > STDERR_FILENO) /* not for the command */
            fcntl((int)o->descriptor, F_SETFD, FD_CLOEXEC);
        out = fdopen((int)o->descriptor, "w");
        if (!out)
            err_code(err, EXIT_USAGE, "the file descriptor %" PRIu64 " cannot be written to",
                     o->descriptor);
    }
    return out;
}

static int open_timeline(struct run_outputs *o, struct err *err)
{
    if (!o->timeline_path)
        return 0;
    o->timeline = fopen(o->timeline_path, "we");
    if (!o->timeline)
        return cannot_write(o->timeline_path, err);
    o->timeline_csv = ends_with(o->timeline_path, ".csv");
    o->points.out = o->timeline;
    if (o->timeline_csv)
        fputs("timestamp,rss_bytes,vsz_bytes\n", o->timeline);
    else
        emit_open(&o->points, '[');
    return 0;
}

static int open_trace(struct run_outputs *o, struct arena *a, struct err *err)
{
    struct tracefile file = {.named = o->record, .force = o->force};

    if (!o->record)
        return 0;
    o->store = tracefile_create(a, &file, err);
    if (!o->store && !file.state)
        return -1;
    if (!o->store)
        fprintf(stderr, "tidemark: %s; the run is not recorded\n", err->text);
    return 0;
}

int run_outputs_open(struct run_outputs *o, struct arena *a, struct err *err)
{
    o->report = open_report(o, err);
    return o->report && !open_timeline(o, err) && !open_trace(o, a, err) ? 0 : -1;
}

void run_outputs_point(void *context, const struct watch_point *p)
{
    struct run_outputs *o = context;
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

int run_outputs_close_timeline(struct run_outputs *o, struct err *err)
{
    int failed;

    if (!o->timeline)
        return 0;
    if (!o->timeline_csv)
        emit_close(&o->points, ']');
    failed = ferror(o->timeline);
    if (fclose(o->timeline) || failed)
        return cannot_write(o->timeline_path, err);
    return 0;
}

void run_outputs_alert(void *context, const struct watch_alert *a)
{
    const char *units = ((struct run_outputs *)context)->units;
    char limit[TEXT_SIZE], total[TEXT_SIZE], rss[TEXT_SIZE], largest[128] = "", name[64];

    if (a->pid)
        snprintf(largest, sizeof(largest), ", largest %s (PID %d) with %s",
                 utf8_clean(name, sizeof(name), a->name), a->pid, text_size_in(rss, a->rss, units));
    fprintf(stderr, "tidemark: threshold of %s exceeded %s %.1f s: total of %d process%s is %s%s\n",
            text_size_in(limit, a->limit, units), a->between ? "at some moment within" : "after",
            (double)a->elapsed_ns / 1e9, a->processes, a->processes == 1 ? "" : "es",
            text_size_in(total, a->total, units), largest);
}

void run_outputs_tick(void *context, const struct watch_view *v)
{
    live_draw(&((struct run_outputs *)context)->live, v);
}

void run_outputs_pause(void *context, bool paused)
{
    if (paused)
        live_clear(&((struct run_outputs *)context)->live);
}
