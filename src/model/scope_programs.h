/* scope_programs - which files of Python were run as programs: by the command lines, and by the
 * stacks.
 *
 * A command line is words joined by spaces, so where the name of its script ends is not known: each
 * space may be it. Names are kept as their hashes, which makes asking for a file a look at the ends
 * of its path.
 */
#ifndef MODEL_SCOPE_PROGRAMS_H
#define MODEL_SCOPE_PROGRAMS_H

#include "base/intmap.h"

struct scope_programs {                    /* zeroed: nothing is known */
    struct intmap scripts, modules, files; /* sets of hashes */
    bool text;                             /* one was given as text: -c */
};

void scope_programs_command(struct scope_programs *p, const char *command);
void scope_programs_file(struct scope_programs *p, const char *file);
bool scope_programs_has(const struct scope_programs *p, const char *file);
void scope_programs_free(struct scope_programs *p);

#endif
