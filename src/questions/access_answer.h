/* access_answer - what the questions about uses of memory share: whether any were told, by whom,
 * and if not, why. */
#ifndef QUESTIONS_ACCESS_ANSWER_H
#define QUESTIONS_ACCESS_ANSWER_H

#include "model/uses.h"
#include "questions/question.h"

struct access_state { /* zeroed: empty */
    struct uses uses;
    bool told;                 /* of accesses */
    const char *why;           /* why not, as the recorded program says; NULL: it says nothing */
    const struct names *names; /* while records are read */
};

/* In `begin` of a question: hear whether there are any. */
void access_begin(struct asked *q, struct access_state *s);
/* In `again`: of these blocks, which are read again already. */
void access_want(struct asked *q, struct access_state *s, struct tensors *t);
/* Is any of them to a block that is known by its address? After the trace was read. */
bool access_judges(const struct access_state *s);
/* What they tell of; NULL: none is told, or all that were are to memory that is not known, and
 * stacks tell more. */
const struct uses *access_uses(const struct access_state *s);
/* What must be said of them; NULL: nothing. */
const char *access_note(const struct asked *q, const struct access_state *s);

#endif
