/* space_joins - spaces beside what is known of the same memory otherwise: what a pool has handed
 * out beside what it has to hand out, and what a program allocated on a device beside what the
 * device's driver says.
 */
#ifndef QUESTIONS_SPACE_JOINS_H
#define QUESTIONS_SPACE_JOINS_H

#include "model/run_data.h"
#include "model/space_lens.h"
#include "questions/question.h"

struct space_row { /* of the table of spaces */
    const struct space_entry *space;
    bool any; /* something was allocated in it: then there are these */
    uint64_t peak, live;
};

/* A table each, where there is something to say. */
void space_joins_pools(const struct space_row *rows, size_t count, struct answer *a);
void space_joins_devices(const struct space_row *rows, size_t count, const struct run *r,
                         struct answer *a);

#endif
