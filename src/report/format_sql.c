/* format_sql - tables as statements of SQL in one transaction: `tidemark report x.tide -f sql |
 * sqlite3 x.db`. Where nothing is asked, every question is.
 */
#include "report/formats.h"
#include "report/sql.h"

#include <inttypes.h>
#include <stdio.h>

struct statements {
    struct sql sql;
    FILE *out;
};

/* NUL ends it, so that nobody can end it earlier. */
static void put_text(const char *text, FILE *out)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void put_value(const struct sql_value *v, FILE *out)
{
    if (v->type == SQL_NULL)
        fputs("NULL", out);
    else if (v->type == SQL_NUMBER)
        fprintf(out, "%" PRId64, v->number);
    else if (v->type == SQL_REAL)
        fputs(v->text, out);
    else
        put_text(v->text, out);
}

static void put_table(struct sql *s, const struct sql_table *t)
{
    fprintf(((struct statements *)s)->out, "%s;\n", t->create);
}

static void put_row(struct sql *s, const struct sql_table *t, const struct sql_value *values,
                    int count)
{
    FILE *out = ((struct statements *)s)->out;

    fprintf(out, "INSERT INTO \"%s\" VALUES(", t->name);
    for (int i = 0; i < count; i++) {
        if (i)
            fputc(',', out);
        put_value(&values[i], out);
    }
    fputs(");\n", out);
}

static void write_sql(const struct answer *a, FILE *out)
{
    struct statements s = {{put_table, put_row}, out};

    fputs("BEGIN;\n", out);
    sql_write(&s.sql, a);
    fputs("COMMIT;\n", out);
}

const struct format format_sql = {
    .name = "sql",
    .summary = "statements that make tables of every question, for sqlite3",
    .asks = sql_asks,
    .write = write_sql,
};
