/* format_resource_log - the log of py-resource-monitor, byte for byte in its columns, so that what
 * reads those logs reads ours: a line on the cost of a sample, a line of KEY:INTEGER, the heading,
 * then numbers. The format knows no empty value: what is not known is -1, a percentage nan.
 */
#include "report/formats.h"
#include "report/show.h"

#include <string.h>

static const struct table *find(const struct answer *a, const char *name)
{
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->tables[i]->name, name) == 0)
            return a->tables[i];
    return NULL;
}

static void put_cost(const struct table *recording, FILE *out)
{
    const struct table_cell *cost = table_find_fact(recording, "sample_cost");
    const struct table_cell *interval = table_find_fact(recording, "interval");

    if (cost)
        fprintf(out,
                "In current environment, the latency of resource logging is estimated to be "
                "%.4e s, your interval is advised to be 2x greater than it.\n",
                (double)cost->number / 1e9);
    else if (interval)
        fprintf(out, "The latency of resource logging was not measured, the interval was %.4e s.\n",
                (double)interval->number / 1e9);
    else
        fputs("Neither the latency of resource logging nor the interval is known.\n", out);
}

static void put_machine(const struct table *machine, FILE *out)
{
    char text[SHOW_ROOM];

    for (int i = 0; machine && i < machine->rows; i++) {
        const struct table_cell *value = table_at(machine, i, TABLE_VALUE);

        fprintf(out, "%s%s:%s", i ? "," : "", table_at(machine, i, TABLE_NAME)->text,
                value->present ? show_plain(text, value) : "-1");
    }
    fputc('\n', out);
}

static void put_rows(const struct table *t, FILE *out)
{
    char text[SHOW_ROOM];

    for (int i = 0; i < t->width; i++)
        fprintf(out, "%s%s", i ? "," : "", t->columns[i].name);
    fputc('\n', out);
    for (int row = 0; row < t->rows; row++) {
        for (int i = 0; i < t->width; i++) {
            const struct table_cell *c = table_at(t, row, i);
            const char *unknown = c->unit == UNIT_PERCENT ? "nan" : "-1";

            fprintf(out, "%s%s", i ? "," : "", c->present ? show_plain(text, c) : unknown);
        }
        fputc('\n', out);
    }
}

static void write_resource_log(const struct answer *a, FILE *out)
{
    const struct table *rows = find(a, "resources");

    put_cost(find(a, "recording"), out);
    put_machine(find(a, "machine"), out);
    if (rows)
        put_rows(rows, out);
}

const struct format format_resource_log = {
    .name = "resource-log",
    .summary = "the log of py-resource-monitor",
    .question = "resources",
    .write = write_resource_log,
};
