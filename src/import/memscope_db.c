/* memscope_db - dumps of MindStudio MemScope as an SQLite database. */
#include "import/importer.h"
#include "import/memscope.h"
#include "import/sqlite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TABLE "memscope_dump"
#define JOURNALED 2 /* in the header: what is newest may be in a file beside it */

static void take_row(void *context, const struct sqlite_cell *cells, int count)
{
    struct memscope *m = context;
    struct memscope_text columns[MEMSCOPE_COLUMNS];
    char numbers[MEMSCOPE_COLUMNS][24];

    if (count != MEMSCOPE_COLUMNS) {
        m->odd++;
        return;
    }
    for (int i = 0; i < MEMSCOPE_COLUMNS; i++) {
        snprintf(numbers[i], sizeof(numbers[i]), "%" PRId64, cells[i].number);
        columns[i] = cells[i].text     ? (struct memscope_text){cells[i].bytes, cells[i].length}
                   : !cells[i].present ? (struct memscope_text){"", 0}
                                       : (struct memscope_text){numbers[i], strlen(numbers[i])};
    }
    memscope_take(m, columns);
}

/* What made the table names its columns, each in quotes, in their order. */
static bool has_columns(const char *sql)
{
    const char *name = MEMSCOPE_HEADER;

    while (*name) {
        size_t length = strcspn(name, ",");
        const char *found = sql;

        while ((found = strchr(found, '"')) &&
               (strncmp(found + 1, name, length) != 0 || found[1 + length] != '"'))
            found++;
        if (!found)
            return false;
        sql = found + length + 2;
        name += length + (name[length] == ',');
    }
    return true;
}

static int read_db(const struct import_file *f, struct intake *in, struct err *err)
{
    struct memscope m = {.in = in};
    char sql[2048] = "";
    int result = sqlite_read(f->bytes, f->size, TABLE, take_row, &m, sql, sizeof(sql), err);

    if (result == 0 && !has_columns(sql))
        result = err_set(
            err,
            "'%s' is a dump of another version of MemScope: its columns are not those of 26.0 (%s)",
            f->path, MEMSCOPE_HEADER);
    if (result == 0)
        memscope_tell(&m);
    if (f->bytes[18] == JOURNALED)
        in->lacks =
            "rows that are still in the -wal file beside the database are not read; opening it with sqlite3 once moves them in";
    memscope_free(&m);
    return result;
}

static bool knows(const struct import_file *f)
{
    return sqlite_knows(f->bytes, f->size);
}

const struct importer importer_memscope_db = {
    .name = "a dump of MindStudio MemScope (.db)",
    .summary = "the same as an SQLite database: the table " TABLE,
    .knows = knows,
    .read = read_db,
};
