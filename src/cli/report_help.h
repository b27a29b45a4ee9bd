/* report_help - what `tidemark report` can be asked and can write, in the words of the descriptors.
 */
#ifndef CLI_REPORT_HELP_H
#define CLI_REPORT_HELP_H

#include "base/arena.h"

/* Paragraphs for help and the manual page; in the arena. */
const char *report_help(struct arena *a);

#endif
