/* format_perfetto - the run for Perfetto and chrome://tracing, as Chrome's trace events: memory,
 * CPU and what else the timeline has as counters, processes and the program's regions as spans,
 * samples of CPU time as a flame over time for each thread. Times are µs.
 */
#include "report/chrome_event.h"
#include "report/formats.h"
#include "report/named.h"
#include "report/perfetto_samples.h"

#define ALL 0 /* the pid of what is known of all processes together */

static uint64_t number_of(const struct table *t, int row, const char *column)
{
    const struct table_cell *c = named_cell(t, row, column);

    return c ? c->number : 0;
}

static void put_counter(struct emit *j, const struct table *t, int row, int column)
{
    const struct table_cell *c = table_at(t, row, column);

    if (!c->present)
        return;
    chrome_begin(j, "C", t->columns[column].name, ALL, table_at(t, row, TABLE_TIME)->number);
    emit_key(j, "args");
    emit_open(j, '{');
    emit_key(j, t->columns[column].name);
    if (t->columns[column].unit == UNIT_PERCENT)
        emit_real(j, c->real);
    else
        emit_number(j, c->number);
    emit_close(j, '}');
    chrome_end(j);
}

static void put_counters(struct emit *j, const struct table *t)
{
    for (int row = 0; row < t->rows; row++)
        for (int i = 1; i < t->width; i++)
            put_counter(j, t, row, i);
}

static void put_processes(struct emit *j, const struct table *t)
{
    for (int row = 0; row < t->rows; row++) {
        const struct table_cell *name = named_cell(t, row, "name");
        uint64_t pid = number_of(t, row, "pid"), from = number_of(t, row, "from"),
                 to = number_of(t, row, "to");

        chrome_name(j, "process_name", pid, pid, name ? name->text : "?");
        if (to > from)
            chrome_span(j, name ? name->text : "?", pid, pid, from, to - from);
    }
}

static uint64_t pid_of(const struct table *threads, uint64_t tid)
{
    for (int row = 0; row < threads->rows; row++)
        if (number_of(threads, row, "tid") == tid)
            return number_of(threads, row, "pid");
    return tid;
}

static void put_regions(struct emit *j, const struct table *t, const struct table *threads)
{
    for (int row = 0; row < t->rows; row++) {
        const struct table_cell *name = named_cell(t, row, "region");
        uint64_t tid = number_of(t, row, "tid");

        chrome_span(j, name ? name->text : "?", pid_of(threads, tid), tid,
                    number_of(t, row, "from"), number_of(t, row, "length"));
    }
}

static void write_perfetto(const struct answer *a, FILE *out)
{
    struct emit j = {.out = out, .first = true};

    emit_open(&j, '{');
    emit_key(&j, "traceEvents");
    emit_open(&j, '[');
    chrome_name(&j, "process_name", ALL, ALL, "all processes");
    put_counters(&j, named_table(a, "timeline"));
    put_processes(&j, named_table(a, "processes"));
    put_regions(&j, named_table(a, "spans"), named_table(a, "threads"));
    perfetto_samples(&j, a);
    emit_close(&j, ']');
    emit_key(&j, "displayTimeUnit");
    emit_text(&j, "ms");
    emit_close(&j, '}');
    fputc('\n', out);
}

static const char *const asks[] = {"timeline", "processes", "regions", "threads", "samples", NULL};

const struct format format_perfetto = {
    .name = "perfetto",
    .summary =
        "counters, processes, regions and samples of CPU time, for Perfetto and chrome://tracing",
    .question = "timeline",
    .asks = asks,
    .write = write_perfetto,
};
