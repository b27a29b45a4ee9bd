/* suppress - known leaks that nobody wants to read again, as LeakSanitizer's suppression files name
 * them: lines "leak:PATTERN", comments after '#'. A pattern is found anywhere in a name; '*' is any
 * text, '^' the beginning, '$' the end. It suppresses what was allocated by a stack that has a
 * frame whose function, source file or module it matches.
 */
#ifndef MODEL_SUPPRESS_H
#define MODEL_SUPPRESS_H

#include "model/heap.h"

struct suppress_rule {
    const char *pattern;
    uint64_t stacks, blocks, bytes; /* what it has suppressed: the question counts */
};

struct suppress {
    const char *path;
    struct suppress_rule *rules;
    size_t count;
};

/* The rules of a file, in the arena; NULL with *err (no such file, a line that is no rule). */
struct suppress *suppress_read(struct arena *a, const char *path, struct err *err);

/* The first rule that matches a frame; NULL: none does. `s` and `stack` may be NULL. */
struct suppress_rule *suppress_find(const struct suppress *s, const struct table_stack *stack);

/* Take what the rules match out of `at` of every stack and out of their *sum; the rules count it.
 */
void suppress_apply(const struct suppress *s, struct heap *h, struct heap_amount *sum);

bool suppress_matches(const char *pattern, const char *text); /* text may be NULL */

#endif
