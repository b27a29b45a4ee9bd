/* report_help - what `tidemark report` can be asked and can write, in the words of the descriptors.
 */
#ifndef CLI_REPORT_HELP_H
#define CLI_REPORT_HELP_H

#include "base/arena.h"
#include "questions/question.h"

/* Lists for help; `whole`, for the manual page: all that is known of each question as well. As
 * command.h has it of a description, in the arena.
 */
const char *report_help(struct arena *a, bool whole);

/* The question of that name; NULL with *err, which says which there are. */
const struct question *report_question(const char *name, struct err *err);

/* All that is known of one, as above. */
const char *report_help_question(struct arena *a, const struct question *q);

#endif
