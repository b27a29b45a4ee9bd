/* scope - which files are the program's own.
 *
 * A file of Python is somebody else's only where that can be told for certain: code that is frozen
 * into the interpreter, a module of the standard library in the folder of one
 * (PREFIX/lib/python3.N, or wherever the trace shows that library), and what is under site-packages
 * or dist-packages of an interpreter. Everything else is the program's, wherever it is installed.
 * The script or module that was run (the command line names it, and stacks begin with it) is the
 * program's where nothing else is; otherwise one that is installed (pytest, a worker of joblib) or
 * was made by an installer (PREFIX/bin/gunicorn) only starts it. Code without a file (made by exec)
 * belongs to its caller, unless it is what was typed in: -c, standard input, a cell of a notebook.
 *
 * A line of native code is the program's unless its module is the interpreter, one of its
 * extensions, or a library of the system.
 */
#ifndef MODEL_SCOPE_H
#define MODEL_SCOPE_H

#include "base/arena.h"
#include "model/scope_programs.h"

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
    SCOPE_WORKERS,   /* native threads of a library, whose work is nobody's; see pools */
    SCOPE_IDLE,      /* threads without work */
    SCOPE_ARENAS,    /* what allocators inside of libraries have reserved; see frames_arena.c */
};
#define SCOPE_KINDS 9
#define SCOPE_ROOTS_MOST 64
#define SCOPE_PREFIXES_MOST 64

struct scope { /* zeroed but for its arena: no rules, nothing is known */
    struct arena *arena;
    const struct scope_rules *rules; /* or NULL */
    struct scope_programs programs;
    const char *roots[SCOPE_ROOTS_MOST];       /* of standard libraries */
    const char *prefixes[SCOPE_PREFIXES_MOST]; /* where packages are installed */
    size_t root_count, prefix_count;
    bool others; /* a file is the program's by its path alone */
};

/* A command line of a process, its words joined by spaces. */
void scope_command(struct scope *s, const char *command);
/* A file that was run as a program. */
void scope_program(struct scope *s, const char *file);
/* A path of the trace: it may show where the standard library is. Call it for all before asking. */
void scope_learn(struct scope *s, const char *file);

/* After that, for all files of lines of Python: is there a file of the program's besides what
 * starts it?
 */
void scope_settle(struct scope *s, const char *file);

enum scope_kind scope_of_python(const struct scope *s, const char *file);
/* Is it of the standard library, whatever is asked for? */
bool scope_is_library(const struct scope *s, const char *file);
/* A module of the interpreter, one of its extensions, or a library of the system. */
bool scope_is_system(const char *module);
/* Either may be NULL. */
enum scope_kind scope_of_native(const struct scope *s, const char *file, const char *module);

void scope_free(struct scope *s);

/* "(the standard library)" and so on: what a row is called that stands for such files. */
const char *scope_text(enum scope_kind kind);

/* With one of *?[ a pattern as of fnmatch(3), for the whole path or its end; otherwise a part of
 * the path.
 */
bool scope_matches(const char *pattern, const char *path);

#endif
