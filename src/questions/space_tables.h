/* space_tables - all memory of a trace side by side: the host's and that of each device, never
 * added up; what was asked for in vain; and what was launched. Of a trace that has the host's alone
 * there is none.
 */
#ifndef QUESTIONS_SPACE_TABLES_H
#define QUESTIONS_SPACE_TABLES_H

#include "model/space_lens.h"
#include "questions/question.h"
#include "questions/space_joins.h"
#include "questions/space_kernels.h"

struct space_refusal { /* allocations that failed in the same way */
    uint64_t space, stack, call, status;
    uint64_t count, most, last_ns;
};

struct space_calls { /* allocations by one function, or of one kind of it */
    uint64_t space, call, count, bytes;
};

struct space_launches {
    uint64_t stack, call, count;
};

struct space_tables { /* zeroed: nothing was read */
    struct recorded *recorded;
    struct space_list spaces;
    struct space_row rows[SPACES_MOST]; /* of each, once the tables are made */
    struct space_refusal *refused;
    size_t refused_count, refused_room;
    struct space_calls *calls;
    size_t calls_count, calls_room;
    struct space_launches *launched;
    size_t launched_count, launched_room;
    struct space_kernels kernels;
    uint64_t left_out; /* rows that there was no room for */
};

/* Before the trace is read: hear what there is. */
void space_tables_begin(struct space_tables *s, struct recorded *r);
/* Once it was. Each space takes passes over the trace of its own, which questions about it take,
 * too: so both say the same. `all`: with the tables besides that of the spaces.
 */
void space_tables_add(struct space_tables *s, const struct selection *o, struct answer *a,
                      bool all);

#endif
