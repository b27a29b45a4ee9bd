/* script - a Python file given where a command is expected: what runs it. */
#ifndef CLI_SCRIPT_H
#define CLI_SCRIPT_H

#include "base/arena.h"

#include <stdbool.h>

/* The words to run: `argv` itself, unless it begins with a .py file that the kernel would not run.
 * Then the interpreter of its first line, or else python3, stands before it, which is said if not
 * `quiet`.
 */
char **script_words(struct arena *a, char **argv, bool quiet);

#endif
