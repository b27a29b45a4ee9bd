/* steps_answer - what the tables of the question `steps` share: a file each for what grows and for
 * the moments that have a name.
 */
#ifndef QUESTIONS_STEPS_ANSWER_H
#define QUESTIONS_STEPS_ANSWER_H

#include "model/step_growth.h"
#include "model/step_heap.h"
#include "questions/question.h"

#define STEPS_ROWS 100 /* of a table, unless the options say */

struct steps_state {
    struct step_heap heap;
    struct step_growth growth;
};

struct steps_answer {
    struct answer *answer;
    struct recorded *recorded;
    struct steps_state *state;
    const struct selection *options;
    struct intmap processes; /* by number: their places in the run */
};

extern const char *const steps_trends[]; /* by enum step_trend */

/* Add a table of stacks that hold more or less after some steps; of marks and snapshots. */
void steps_put_growth(const struct steps_answer *w);
void steps_put_marks(const struct steps_answer *w);

/* Is it in the stretch of time that is asked about? */
bool steps_asked_for(const struct selection *o, uint64_t from_ns, uint64_t to_ns);
void steps_read_processes(struct steps_answer *w);
/* Its pid and its rank (or NULL), as far as they are known. */
void steps_pid(struct table_cell *pid, struct table_cell *rank, const struct steps_answer *w,
               uint64_t process);
void steps_change(struct table_cell *c, double change);

#endif
