/* ops_calls - of the question ops: operators as they began and ended, where a recording has them
 * (--ops). */
#ifndef QUESTIONS_OPS_CALLS_H
#define QUESTIONS_OPS_CALLS_H

#include "model/op_calls.h"
#include "questions/question.h"

struct ops_calls {
    struct op_calls calls;
    const char *why; /* why there are none, as the recorded program says; NULL: it says nothing */
};

void ops_calls_again(struct asked *q, struct ops_calls *o);
/* The table of them, or a note on `facts` where they were asked for in vain. */
void ops_calls_put(struct asked *q, struct ops_calls *o, struct table *facts);

#endif
