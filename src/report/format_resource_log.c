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

static const struct table_cell *fact(const struct table *t, const char *name)
{
    for (int i = 0; t && i < t->rows; i++)
        if (strcmp(t->cells[i * 2].text, name) == 0 && t->cells[i * 2 + 1].present)
            return &t->cells[i * 2 + 1];
    return NULL;
}

static void put_cost(const struct table *recording, FILE *out)
{
    const struct table_cell *cost = fact(recording, "sample_cost");
    const struct table_cell *interval = fact(recording, "interval");

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
        const struct table_cell *c = &machine->cells[i * 2];

        fprintf(out, "%s%s:%s", i ? "," : "", c[0].text,
                c[1].present ? show_plain(text, &c[1]) : "-1");
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
            const struct table_cell *c = &t->cells[(size_t)row * (size_t)t->width + (size_t)i];
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
    .summary = "the log of py-resource-monitor, for what reads those",
    .question = "resources",
    .write = write_resource_log,
};
