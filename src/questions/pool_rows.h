/* pool_rows - a pool as a row: what it has reserved, what of that is used, and in which pieces the
 * rest is. */
#ifndef QUESTIONS_POOL_ROWS_H
#define QUESTIONS_POOL_ROWS_H

#include "model/reserves.h"
#include "questions/table.h"

/* The table `pools`. */
struct table *pool_rows_table(struct answer *a);
/* All segments, by process: each has one pool, which is called as it, or all as `name`. */
void pool_rows_put_all(struct answer *a, struct table *t, struct heap *h, const char *name,
                       struct reserves *r);

/* What is free of a segment, by what is used, or else by what was asked for: then it is at most so
 * much; or ABSENT. */
uint64_t pool_rows_free(const struct reserve *x);
/* A number that may be ABSENT. */
void pool_rows_known(struct table_cell *c, uint64_t number);

#endif
