/* ranks - which rank of a distributed program processes are, as their launchers or they themselves
 * have said. */
#ifndef MODEL_RANKS_H
#define MODEL_RANKS_H

#include "base/intmap.h"
#include "model/names.h"

enum rank_number { RANK_RANK, RANK_LOCAL, RANK_WORLD, RANK_NUMBERS };

struct rank_known {
    bool known;
    uint64_t number;
};

struct ranks {                      /* zeroed: nobody has one */
    struct intmap of[RANK_NUMBERS]; /* process -> the number */
};

/* Take a FACT of a process; the last one of a kind counts. Others are left alone. */
void ranks_fact(struct ranks *r, struct names *n, const struct trace_event *ev);
/* What is known of a process. True: something is. */
bool ranks_of(const struct ranks *r, uint64_t process, struct rank_known out[RANK_NUMBERS]);
void ranks_free(struct ranks *r);

#endif
