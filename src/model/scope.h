/* scope - which files are the program's own.
 *
 * A file of Python is somebody else's only where that can be told for certain: code that is frozen
 * into the interpreter, a module of the standard library in the folder of one (PREFIX/lib/python3.N,
 * or wherever the trace shows that library), and what is under site-packages or dist-packages of an
 * interpreter. Everything else is the program's, wherever it is installed; and so is always the
 * script or module that was run: the command line names it, and stacks begin with it. Code without a file (made by exec) belongs to its caller,
 * unless it is what was typed in: -c, standard input, a cell of a notebook.
 *
 * A line of native code is the program's unless its module is the interpreter, one of its
 * extensions, or a library of the system.
 */
#ifndef ANALYZE_SCOPE_H
#define ANALYZE_SCOPE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct scope_rules {                          /* zeroed: the program's own files */
    bool all;                                 /* every file */
    bool reduced;                             /* only lines that matter */
    const char *const *only, *const *exclude; /* patterns on paths */
    size_t only_count, exclude_count;
};

enum scope_kind {
    SCOPE_OWN,
    SCOPE_LIBRARY,   /* the interpreter's own modules */
    SCOPE_PACKAGES,  /* installed ones */
    SCOPE_GENERATED, /* code without a file */
    SCOPE_NATIVE,    /* not Python, and not the program's own */
    SCOPE_LEFT_OUT,  /* by --only or --exclude, or not asked for by the program itself */
};
#define SCOPE_KINDS 6

struct scope { /* zeroed but for its arena: no rules, nothing is known */
    struct arena *arena;
    const struct scope_rules *rules; /* or NULL */
    const char **commands, **programs, **roots;
    size_t command_count, program_count, root_count;
};

/* A command line of a process, its words joined by spaces. */
void scope_command(struct scope *s, const char *command);
/* A file that was run as a program. */
void scope_program(struct scope *s, const char *file);
/* A path of the trace: it may show where the standard library is. Call it for all before asking. */
void scope_learn(struct scope *s, const char *file);

enum scope_kind scope_of_python(const struct scope *s, const char *file);
/* Either may be NULL. */
enum scope_kind scope_of_native(const struct scope *s, const char *file, const char *module);

/* "(the standard library)" and so on: what a row is called that stands for such files. */
const char *scope_text(enum scope_kind kind);

/* With one of *?[ a pattern as of fnmatch(3), for the whole path or its end; otherwise a part of
 * the path.
 */
bool scope_matches(const char *pattern, const char *path);

#endif
