/* format_sqlite - the tables of every question, or of one, as a database of SQLite: what the format
 * sql makes there. It is written when it is whole.
 */
#include "report/database.h"
#include "report/formats.h"

struct tables {
    struct sql sql;
    struct database *database;
};

static void put_table(struct sql *s, const struct sql_table *t)
{
    database_table(((struct tables *)s)->database, t);
}

static void put_row(struct sql *s, const struct sql_table *t, const struct sql_value *values,
                    int count)
{
    database_row(((struct tables *)s)->database, t, values, count);
}

static void write_sqlite(const struct answer *a, FILE *out)
{
    struct tables t = {{put_table, put_row}, database_begin()};

    sql_write(&t.sql, a);
    database_end(t.database, out);
}

const struct format format_sqlite = {
    .name = "sqlite",
    .summary = "a database of SQLite with the tables of every question",
    .asks = sql_asks,
    .write = write_sqlite,
};
