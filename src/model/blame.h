/* blame - which line of the program pays for a stack.
 *
 * It is the innermost line of Python that is in scope; in a stack without one, the innermost line
 * of native code that is. A stack without any has no line: what is spent there is kept apart by
 * what kind of code it was, so that nothing is hidden and every sum adds up.
 *
 * Whose the work of a thread is that has no line in its stack, pools and holders say.
 */
#ifndef MODEL_BLAME_H
#define MODEL_BLAME_H

#include "model/frames.h"
#include "model/scope.h"

struct blame_file {
    const char *path;
    enum scope_kind kind; /* SCOPE_OWN: in scope */
    bool python;
};

struct blame_function {
    const char *name; /* NULL: not known */
    uint32_t file;
    uint64_t line; /* its first; 0: not known */
    bool python;
};

struct blame_line {
    uint32_t file, function;
    uint64_t line;
};

struct blame_name { /* of a frame, which has several where functions were inlined */
    uint32_t line, function;
};

/* Lines 0 .. SCOPE_KINDS - 1 are none: they stand for stacks without one, by kind, and SCOPE_OWN
 * for those that are not known.
 */
struct blame {
    const struct frames *frames;
    struct scope *scope;
    struct blame_file *files;
    struct blame_function *functions;
    struct blame_line *lines;
    uint32_t file_count, function_count, line_count;
    uint32_t *of_stack;    /* by number of the stack: its line, */
    uint32_t *function_of; /* and the function that pays; UINT32_MAX: none */
    bool *python;          /* by number of the stack: there is Python in it */
    struct blame_inner *inner;
};

/* Look at all frames and stacks; free it with blame_free. */
void blame_read(struct blame *b, const struct frames *f, struct scope *s);
void blame_free(struct blame *b);

/* The line that pays for a stack, whatever thread it is in. */
uint32_t blame_stack(const struct blame *b, uint64_t stack);
/* The function that pays; UINT32_MAX: none. */
uint32_t blame_function(const struct blame *b, uint64_t stack);
/* The line of Python that started a thread, from the stack that did; UINT32_MAX: none. */
uint32_t blame_creator(const struct blame *b, uint64_t creator);
/* Is there no Python in it at all? */
bool blame_is_foreign(const struct blame *b, uint64_t stack);

/* The names in scope of one frame, the innermost first. */
size_t blame_names(const struct blame *b, uint64_t frame, const struct blame_name **names);

#endif
