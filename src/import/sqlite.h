/* sqlite - the rows of one table of an SQLite database that is in memory, as its file format is
 * documented (https://www.sqlite.org/fileformat.html). Only what reading a table needs: no index,
 * no journal. Every page is read at most once, whatever the file says.
 */
#ifndef IMPORT_SQLITE_H
#define IMPORT_SQLITE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SQLITE_COLUMNS_MOST 32

struct sqlite_cell {
    bool present; /* not NULL */
    bool text;
    int64_t number;
    const char *bytes; /* of a text or blob: until the next row */
    size_t length;
};

typedef void sqlite_take(void *context, const struct sqlite_cell *cells, int count);

bool sqlite_knows(const unsigned char *bytes, size_t size);
/* All rows of a table, in the order of their row numbers; `sql`, if it is not NULL, is what made
 * it. -1 with *err: there is no such table, or the file is damaged.
 */
int sqlite_read(const unsigned char *bytes, size_t size, const char *table, sqlite_take *take,
                void *context, char *sql, size_t sql_room, struct err *err);

#endif
