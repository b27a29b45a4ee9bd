/* format_jsonl - an object a line, for tools that read streams (jq, DuckDB, log collectors): the
 * first says what was asked and what the trace lacks, as in the format json; each of the others is
 * one row of a table, with the table's name as `table`. Facts are rows with `name`, `unit` and
 * `value`.
 */
#include "report/formats.h"
#include "report/json_cells.h"

static void put_head(struct emit *j, const struct answer *a)
{
    emit_open(j, '{');
    emit_key(j, "schema");
    emit_number(j, JSON_SCHEMA);
    emit_key(j, "question");
    emit_text(j, a->question);
    emit_key(j, "asked");
    emit_text(j, a->asked);
    emit_key(j, "health");
    emit_text(j, a->health);
    emit_key(j, "coverage");
    emit_text(j, a->coverage ? a->coverage->line : NULL);
    emit_key(j, "left_out");
    emit_text(j, a->left_out);
    emit_close(j, '}');
}

static void put_fact(struct emit *j, const struct table *t, int row)
{
    emit_key(j, "name");
    emit_text(j, table_at(t, row, TABLE_NAME)->text);
    emit_key(j, "unit");
    emit_text(j, json_unit(table_at(t, row, TABLE_VALUE)->unit));
    emit_key(j, "value");
    json_cell(j, table_at(t, row, TABLE_VALUE));
}

static void put_row(const struct table *t, int row, FILE *out)
{
    struct emit j = {.out = out, .first = true, .flat = true};

    emit_open(&j, '{');
    emit_key(&j, "table");
    emit_text(&j, t->name);
    if (t->shape == TABLE_FACTS)
        put_fact(&j, t, row);
    for (int i = 0; t->shape != TABLE_FACTS && i < t->width; i++) {
        emit_key(&j, t->columns[i].name);
        json_cell(&j, table_at(t, row, i));
    }
    emit_close(&j, '}');
    fputc('\n', out);
}

static void write_jsonl(const struct answer *a, FILE *out)
{
    struct emit j = {.out = out, .first = true, .flat = true};

    put_head(&j, a);
    fputc('\n', out);
    for (int i = 0; i < a->count; i++)
        for (int row = 0; row < a->tables[i]->rows; row++)
            put_row(a->tables[i], row, out);
}

const struct format format_jsonl = {
    .name = "jsonl",
    .summary = "one object per line: what was asked, then every row",
    .write = write_jsonl,
};
