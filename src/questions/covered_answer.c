/* covered_answer - see covered_answer.h. */
#include "questions/covered_answer.h"

#include "model/covered.h"

void covered_answer(struct answer *a, const struct run *r)
{
    a->health = r->health;
    a->coverage = covered(r);
}
