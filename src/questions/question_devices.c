/* question_devices - accelerators: what each held, how much of it was the recorded processes', and
 * over time. */
#include "base/count.h"
#include "questions/cells.h"
#include "questions/heap_points.h"
#include "questions/points.h"
#include "questions/question.h"

#include <inttypes.h>

#define ROWS_MOST (1 << 16) /* of a device; above it each two rows become one */
#define DEVICES_MOST 64

enum {
    DEVICE,
    NUMBER,
    NAME,
    TOTAL,
    USED_LEAST,
    USED_AVERAGE,
    USED_PEAK,
    OURS_LEAST,
    OURS_AVERAGE,
    OURS_PEAK,
    REST_LEAST,
    REST_AVERAGE,
    REST_PEAK,
    RESERVED,
    BUSY_AVERAGE,
    BUSY_PEAK,
    READINGS,
    VENDOR,
    ID,
    WAY,
    NOTE,
};

static const struct table_column columns[] = {
    [DEVICE] = {"device", UNIT_TEXT},
    [NUMBER] = {"number", UNIT_ID, .detail = true}, /* the table device_NUMBER is it over time */
    [NAME] = {"name", UNIT_TEXT},
    [TOTAL] = {"total", UNIT_BYTES},
    [USED_LEAST] = {"used_least", UNIT_BYTES, .detail = true},
    [USED_AVERAGE] = {"used_average", UNIT_BYTES, .detail = true},
    [USED_PEAK] = {"used_peak", UNIT_BYTES},
    [OURS_LEAST] = {"ours_least", UNIT_BYTES, .detail = true},
    [OURS_AVERAGE] = {"ours_average", UNIT_BYTES, .detail = true},
    [OURS_PEAK] = {"ours_peak", UNIT_BYTES},
    [REST_LEAST] = {"rest_least", UNIT_BYTES, .detail = true},
    [REST_AVERAGE] = {"rest_average", UNIT_BYTES, .detail = true},
    [REST_PEAK] = {"rest_peak", UNIT_BYTES},
    [RESERVED] = {"reserved", UNIT_BYTES, .detail = true},
    [BUSY_AVERAGE] = {"busy_average_percent", UNIT_PERCENT},
    [BUSY_PEAK] = {"busy_peak_percent", UNIT_PERCENT, .detail = true},
    [READINGS] = {"readings", UNIT_COUNT, .detail = true},
    [VENDOR] = {"vendor", UNIT_TEXT, .detail = true},
    [ID] = {"id", UNIT_TEXT, .detail = true},
    [WAY] = {"way", UNIT_TEXT, .detail = true},
    [NOTE] = {"note", UNIT_TEXT, .detail = true},
};

enum { USE_DEVICE, USE_PID, USE_PROCESS, USE_LEAST, USE_AVERAGE, USE_PEAK, USE_SHARED, USE_BUSY };

static const struct table_column use_columns[] = {
    [USE_DEVICE] = {"device", UNIT_TEXT},
    [USE_PID] = {"pid", UNIT_ID},
    [USE_PROCESS] = {"process", UNIT_TEXT},
    [USE_LEAST] = {"used_least", UNIT_BYTES},
    [USE_AVERAGE] = {"used_average", UNIT_BYTES},
    [USE_PEAK] = {"used_peak", UNIT_BYTES},
    [USE_SHARED] = {"shared_peak", UNIT_BYTES, .detail = true},
    [USE_BUSY] = {"busy_average_percent", UNIT_PERCENT},
};

enum { TIME = TABLE_TIME, NOW_USED, NOW_OURS, NOW_REST, NOW_RESERVED, NOW_BUSY };

static const struct table_column time_columns[] = {
    [TIME] = {"time", UNIT_NS},
    [NOW_USED] = {"used", UNIT_BYTES},
    [NOW_OURS] = {"ours", UNIT_BYTES},
    [NOW_REST] = {"rest", UNIT_BYTES},
    [NOW_RESERVED] = {"reserved", UNIT_BYTES},
    [NOW_BUSY] = {"busy_percent", UNIT_PERCENT},
};

struct devices {
    const struct selection *options;
    struct answer *answer;
    struct table *table, *uses;
    struct points points[DEVICES_MOST];
    uint64_t seen[DEVICES_MOST]; /* readings */
};

/* ---- over time ---- */

static void fill_now(struct table_cell *c, const struct metrics *m)
{
    uint64_t used, ours, value;
    bool all = metrics_get(m, METRIC_DEVICE_USED, &used),
         known = metrics_get(m, METRIC_DEVICE_OURS, &ours);

    if (all)
        cell_number(&c[NOW_USED], used);
    if (known)
        cell_number(&c[NOW_OURS], ours);
    if (all && known)
        cell_number(&c[NOW_REST], used > ours ? used - ours : 0);
    if (metrics_get(m, METRIC_DEVICE_RESERVED, &value))
        cell_number(&c[NOW_RESERVED], value);
    if (metrics_get(m, METRIC_DEVICE_BUSY, &value))
        cell_real(&c[NOW_BUSY], (double)value / 10);
}

/* A table's name may be one of SQL's: what a stranger calls a device stands below it. */
static void begin_points(struct devices *q, struct points *p, const struct run_device *d)
{
    const char *name = arena_printf(q->answer->arena, "device_%" PRIu64, d->number);

    *p = (struct points){.answer = q->answer, .most = ROWS_MOST};
    p->table = answer_add(q->answer, name, TABLE_TIMELINE, time_columns, COUNT(time_columns));
    p->table->note = d->label;
}

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    struct devices *q = context;

    for (size_t i = 0; i < r->device_count && i < DEVICES_MOST; i++) {
        const struct run_device *d = r->devices[i];
        struct points *p = &q->points[i];
        struct table_cell *c;

        if (d->readings == q->seen[i] || !heap_points_wanted(q->options, time_ns))
            continue;
        q->seen[i] = d->readings;
        if (!p->table)
            begin_points(q, p, d);
        c = points_add(p);
        cell_number(&c[TIME], time_ns);
        fill_now(c, &d->now);
        points_done(p);
    }
}

/* ---- the whole run ---- */

static void fill_range(struct table_cell *least, struct table_cell *mean, struct table_cell *most,
                       const struct run_range *r)
{
    if (!r->count)
        return;
    cell_number(least, r->least);
    cell_rounded(mean, r->sum / (double)r->count);
    cell_number(most, r->most);
}

static void fill_device(struct table_cell *c, const struct run_device *d)
{
    uint64_t value;

    cell_text(&c[DEVICE], d->label);
    cell_number(&c[NUMBER], d->number);
    cell_text(&c[NAME], d->name);
    if (metrics_get(&d->most, METRIC_DEVICE_TOTAL, &value))
        cell_number(&c[TOTAL], value);
    fill_range(&c[USED_LEAST], &c[USED_AVERAGE], &c[USED_PEAK], &d->used);
    fill_range(&c[OURS_LEAST], &c[OURS_AVERAGE], &c[OURS_PEAK], &d->ours);
    fill_range(&c[REST_LEAST], &c[REST_AVERAGE], &c[REST_PEAK], &d->rest);
    if (d->reserved.count)
        cell_number(&c[RESERVED], d->reserved.most);
    if (d->busy.count) {
        cell_real(&c[BUSY_AVERAGE], d->busy.sum / (double)d->busy.count / 10);
        cell_real(&c[BUSY_PEAK], (double)d->busy.most / 10);
    }
    cell_number(&c[READINGS], d->readings);
    cell_text(&c[VENDOR], d->vendor);
    cell_text(&c[ID], d->id);
    cell_text(&c[WAY], d->way);
    cell_text(&c[NOTE], d->note);
}

static void fill_use(struct table_cell *c, const struct run_device_use *u)
{
    cell_text(&c[USE_DEVICE], u->device->label);
    cells_pid(&c[USE_PID], u->process);
    cell_text(&c[USE_PROCESS], u->process->name);
    fill_range(&c[USE_LEAST], &c[USE_AVERAGE], &c[USE_PEAK], &u->used);
    if (u->shared != UINT64_MAX)
        cell_number(&c[USE_SHARED], u->shared);
    if (u->busy.count)
        cell_real(&c[USE_BUSY], u->busy.sum / (double)u->busy.count / 10);
}

static void begin(struct asked *q)
{
    struct devices *d = q->state;

    d->options = q->options;
    d->answer = q->answer;
    d->table = answer_add(q->answer, "devices", TABLE_ROWS, columns, COUNT(columns));
    d->uses = answer_add(q->answer, "uses", TABLE_ROWS, use_columns, COUNT(use_columns));
    recorded_listen(q->recorded, on_tick, d);
}

static int run(struct asked *q, struct err *err)
{
    const struct run *r = q->recorded->heap.run;
    struct devices *d = q->state;

    (void)err;
    for (size_t i = 0; i < r->device_count; i++)
        fill_device(table_add(q->answer, d->table), r->devices[i]);
    for (size_t i = 0; i < r->use_count; i++)
        fill_use(table_add(q->answer, d->uses), r->uses[i]);
    table_sort(d->uses, USE_PEAK);
    d->table->note = names_find(r->names, TRACE_OF_RUN, FACT_DEVICES_MISSING);
    if (!r->device_count && !d->table->note)
        d->table->note =
            "No accelerator was found while this was recorded, or none was to be read.";
    return 0;
}

const struct question question_devices = {
    .name = "devices",
    .summary = "memory of accelerators, by device, process and time",
    .group = QUESTION_OF_TRACE,
    .about =
        "devices: used is what everybody holds on a device, ours what the recorded processes do, and rest the "
        "difference at the same moment. It is memory of the device: no part of it is in the RSS of a process.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct devices),
    .begin = begin,
    .run = run,
};
