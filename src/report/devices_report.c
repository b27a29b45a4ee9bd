/* devices_report - see devices_report.h. */
#include "report/devices_report.h"

#include "base/text.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <string.h>

static double average(const struct watch_range *r)
{
    return r->sum / (double)r->count;
}

const struct watch_device *devices_report_first(const struct watch_result *r)
{
    for (size_t i = 0; i < r->device_count; i++)
        if (r->devices[i].used.count)
            return &r->devices[i];
    return NULL;
}

static uint64_t readings(const struct watch_device *d)
{
    return d->used.count > d->ours.count ? d->used.count : d->ours.count;
}

/* ---- text ---- */

static void write_range(const char *what, const struct watch_range *r, const struct run_style *s,
                        FILE *out)
{
    char a[TEXT_SIZE], b[TEXT_SIZE], c[TEXT_SIZE];

    if (!r->count)
        fprintf(out, "  %s n/a", what);
    else
        fprintf(out, "  %s peak %s, average %s, least %s", what, text_size_in(a, r->most, s->unit),
                text_size_in(b, text_rounded(average(r)), s->unit),
                text_size_in(c, r->least, s->unit));
}

static void write_use(const struct watch_device_use *u, const struct run_style *s, FILE *out)
{
    fputs("    ", out);
    terminal_put(out, u->name);
    fprintf(out, " (PID: %d)", u->pid);
    write_range("-", &u->used, s, out);
    if (u->busy.count)
        fprintf(out, "; busy %.0f %% on average", average(&u->busy) / 10);
    fputc('\n', out);
}

static void write_uses(const struct watch_result *r, size_t device, const struct run_style *s,
                       FILE *out)
{
    for (size_t i = 0; s->verbose && i < r->device_use_count; i++)
        if (r->device_uses[i].device == device)
            write_use(&r->device_uses[i], s, out);
}

static void write_rest(const struct watch_device *d, const struct run_style *s, FILE *out)
{
    char a[TEXT_SIZE];

    write_range("rest of the device:", &d->rest, s, out);
    fputs(" (device minus ours)\n", out);
    if (d->reserved.count)
        fprintf(out, "  reserved by its driver: %s\n", text_size_in(a, d->reserved.most, s->unit));
    if (d->busy.count)
        fprintf(out, "  busy: peak %.0f %%, average %.0f %%\n", (double)d->busy.most / 10,
                average(&d->busy) / 10);
    if (d->note[0])
        fprintf(out, "  note: %s\n", d->note);
    if (d->hidden)
        fputs("  note: CUDA_VISIBLE_DEVICES does not show it to the command\n", out);
}

static void write_device(const struct watch_result *r, size_t i, const struct run_style *s,
                         FILE *out)
{
    const struct watch_device *d = &r->devices[i];
    char a[TEXT_SIZE];

    fprintf(out, "\nDevice %s: ", d->label);
    terminal_put(out, d->name[0] ? d->name : d->vendor);
    fprintf(out, " (%s)\n", d->way);
    write_range("used by everybody:", &d->used, s, out);
    if (d->total != ABSENT)
        fprintf(out, ", of %s", text_size_in(a, d->total, s->unit));
    fprintf(out, " (read %" PRIu64 " times)\n", readings(d));
    write_range("used by this command:", &d->ours, s, out);
    fputc('\n', out);
    write_uses(r, i, s, out);
    write_rest(d, s, out);
}

/* One that says nothing, and one that the command does not use, are left to those who ask. */
static bool is_shown(const struct watch_result *r, const struct watch_device *d,
                     const struct run_style *s)
{
    if (d->named || r->devices_asked)
        return true;
    if (!d->used.count && !d->ours.count)
        return false;
    return s->verbose || !d->ours.count || d->ours.most > 0;
}

void devices_report_text(const struct watch_result *r, const struct run_style *s, FILE *out)
{
    for (size_t i = 0; i < r->device_count; i++)
        if (is_shown(r, &r->devices[i], s))
            write_device(r, i, s, out);
    if (!s->verbose && !r->devices_asked && !r->devices_read)
        return;
    for (size_t i = 0; i < r->device_note_count; i++)
        fprintf(out, "%sDevice not read: %s\n", i ? "" : "\n", r->device_notes[i]);
    if (s->verbose && !r->device_count && !r->device_note_count)
        fputs("\nNo accelerator was found\n", out);
}

/* ---- JSON ---- */

static void put_text(struct emit *j, const char *key, const char *text)
{
    emit_key(j, key);
    emit_text(j, text[0] ? text : NULL);
}

static void put_number(struct emit *j, const char *key, uint64_t value)
{
    emit_key(j, key);
    if (value == ABSENT)
        emit_null(j);
    else
        emit_number(j, value);
}

static void put_range(struct emit *j, const char *key, const struct watch_range *r)
{
    emit_key(j, key);
    if (!r->count) {
        emit_null(j);
        return;
    }
    emit_open(j, '{');
    put_number(j, "min", r->least);
    put_number(j, "avg", text_rounded(average(r)));
    put_number(j, "peak", r->most);
    emit_close(j, '}');
}

static void put_percents(struct emit *j, const struct watch_range *r)
{
    emit_key(j, "busy_percent");
    if (!r->count) {
        emit_null(j);
        return;
    }
    emit_open(j, '{');
    emit_key(j, "min");
    emit_real(j, (double)r->least / 10);
    emit_key(j, "avg");
    emit_real(j, average(r) / 10);
    emit_key(j, "peak");
    emit_real(j, (double)r->most / 10);
    emit_close(j, '}');
}

static void put_uses(struct emit *j, const struct watch_result *r, size_t device)
{
    emit_key(j, "processes");
    emit_open(j, '[');
    for (size_t i = 0; i < r->device_use_count; i++) {
        const struct watch_device_use *u = &r->device_uses[i];

        if (u->device != device)
            continue;
        emit_open(j, '{');
        put_number(j, "pid", (uint64_t)u->pid);
        put_text(j, "name", u->name);
        put_range(j, "used_bytes", &u->used);
        put_number(j, "shared_bytes", u->shared);
        put_percents(j, &u->busy);
        emit_close(j, '}');
    }
    emit_close(j, ']');
}

static void put_device(struct emit *j, const struct watch_result *r, size_t i)
{
    const struct watch_device *d = &r->devices[i];

    emit_open(j, '{');
    put_text(j, "device", d->label);
    put_text(j, "vendor", d->vendor);
    put_text(j, "name", d->name);
    put_text(j, "id", d->id);
    put_text(j, "bus", d->bus);
    put_text(j, "way", d->way);
    put_text(j, "note", d->note);
    put_number(j, "cuda_device", d->cuda < 0 ? ABSENT : (uint64_t)d->cuda);
    put_number(j, "total_bytes", d->total);
    put_range(j, "used_bytes", &d->used);
    put_range(j, "reserved_bytes", &d->reserved);
    put_range(j, "ours_bytes", &d->ours);
    put_range(j, "rest_bytes", &d->rest);
    put_percents(j, &d->busy);
    put_number(j, "readings", readings(d));
    put_uses(j, r, i);
    emit_close(j, '}');
}

void devices_report_json(struct emit *j, const struct watch_result *r)
{
    emit_key(j, "devices");
    emit_open(j, '[');
    for (size_t i = 0; i < r->device_count; i++)
        put_device(j, r, i);
    emit_close(j, ']');
    emit_key(j, "devices_missing");
    emit_open(j, '[');
    for (size_t i = 0; i < r->device_note_count; i++)
        emit_text(j, r->device_notes[i]);
    emit_close(j, ']');
}
