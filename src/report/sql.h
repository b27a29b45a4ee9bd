/* sql - the tables of an answer as tables of a database, for the formats sql and sqlite. One has
 * the name of ours, a key `row`, and a column for each of ours; a stack is the number of its
 * innermost frame in the table `node`, each of which names its caller. Absent is NULL.
 */
#ifndef REPORT_SQL_H
#define REPORT_SQL_H

#include "questions/table.h"

#include <stdbool.h>

enum sql_type { SQL_NULL, SQL_NUMBER, SQL_REAL, SQL_TEXT };

struct sql_value {
    enum sql_type type;
    int64_t number;
    double real;
    const char *text; /* of SQL_TEXT; and of SQL_REAL, as it is written */
};

struct sql_table {
    const char *name, *create; /* the statement that makes it */
    bool keyed;                /* its first value is its key, which rises */
    int place;                 /* among all, from 0 */
};

struct sql {
    void (*table)(struct sql *s, const struct sql_table *t);
    void (*row)(struct sql *s, const struct sql_table *t, const struct sql_value *values,
                int count);
};

void sql_write(struct sql *s, const struct answer *a);

/* What both formats ask where nothing was named. */
extern const char *const sql_asks[];

#endif
