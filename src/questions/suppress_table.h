/* suppress_table - what was left out of an answer, by the rule that names it. */
#ifndef QUESTIONS_SUPPRESS_TABLE_H
#define QUESTIONS_SUPPRESS_TABLE_H

#include "model/known_leaks.h"
#include "model/suppress.h"
#include "questions/table.h"

/* The rules that were used as a table "suppressed", with what each kept out; without a file, none.
 */
void suppress_table(struct answer *a, const struct suppress *s);

/* What libraries keep on purpose as a table "left_out", where anything was. */
void known_leaks_table(struct answer *a, const struct known_leaks *k);

#endif
