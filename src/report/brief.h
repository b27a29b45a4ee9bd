/* brief - names that do not fit, in fewer words: what is between the brackets of a template or of a
 * call goes first, then the type that a function returns, and the folders of a file.
 */
#ifndef REPORT_BRIEF_H
#define REPORT_BRIEF_H

#include "report/terminal.h"

#include <stdbool.h>
#include <stddef.h>

#define BRIEF_ROOM 512

/* "std::map<…> ns::f<…>(…) (app.cc:12)" becomes "ns::f<…>(…) (app.cc:12)"; as much of it as there
 * is room for. */
const char *brief_name(char out[BRIEF_ROOM], const char *name, bool utf8);

/* Put it in `room` columns: only what does not fit is made brief. */
void brief_put(FILE *out, const char *name, int room, const struct terminal *terminal);

/* The last two parts of a path; another text as it is. */
const char *brief_path(const char *path);

#endif
