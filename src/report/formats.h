/* formats - ways to write an answer; one file each, one line in FORMATS. Help, the manual page,
 * completion and the choices of -f are made from the descriptors.
 */
#ifndef REPORT_FORMATS_H
#define REPORT_FORMATS_H

#include "questions/table.h"

#include <stdio.h>

struct format {
    const char *name;
    const char *summary;  /* for help, after its name */
    const char *question; /* the question it is made for; NULL: any */
    const char *const
        *asks; /* what it asks together where nothing was named, up to a NULL; or NULL */
    const char
        *first;  /* what it answers where nothing was named; NULL: the first of all questions */
    bool stacks; /* it writes a table with stacks, and so needs one */
    bool pair;   /* `diff` writes two traces in it, though it is made for one question */
    const char *(*missing)(
        void); /* why it cannot be written, in half a sentence, or NULL; may be NULL itself */
    void (*write)(const struct answer *a, FILE *out);
};

/* All of them; the first is the default. A new format is its file, a line here, and one in
 * src/meson.build.
 */
#define FORMATS(X)                                                                                 \
    X(text)                                                                                        \
    X(json)                                                                                        \
    X(csv)                                                                                         \
    X(jsonl)                                                                                       \
    X(markdown)                                                                                    \
    X(sql)                                                                                         \
    X(sqlite)                                                                                      \
    X(resource_log)                                                                                \
    X(collapsed)                                                                                   \
    X(pprof)                                                                                       \
    X(speedscope)                                                                                  \
    X(perfetto)                                                                                    \
    X(scalene)                                                                                     \
    X(heaptrack)                                                                                   \
    X(massif)                                                                                      \
    X(torch_snapshot)                                                                              \
    X(memscope)                                                                                    \
    X(html)                                                                                        \
    X(svg)                                                                                         \
    X(png)

#define X(name) extern const struct format format_##name;
FORMATS(X)
#undef X

extern const struct format *const formats[]; /* NULL-terminated */
const struct format *format_find(const char *name);

/* The names of all, of those that write any answer, and of those that write two traces, separated
 * by spaces; as long as the tool runs.
 */
const char *formats_of_all(void);
const char *formats_of_any(void);
const char *formats_of_pairs(void);

/* The first table that has a stack and a size in each row; NULL: none has. */
const struct table *formats_stacks(const struct answer *a);

#endif
