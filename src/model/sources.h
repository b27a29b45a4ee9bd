/* sources - the text of source files that a trace carries. */
#ifndef ANALYZE_SOURCES_H
#define ANALYZE_SOURCES_H

#include "analyze/names.h"
#include "analyze/table.h"

struct sources { /* zeroed but for its arena: empty */
    struct arena *arena;
    struct sources_file *files;
    size_t count, room, bytes;
    struct intmap places; /* by the number of the path */
};

/* Take a SOURCE; others are left alone. `names` has the paths. */
void sources_take(struct sources *s, const struct names *names, const struct trace_event *ev);

/* All was taken: hand them out, in the arena, to the answer. `changed`: the paths of the files that
 * changed while the recording ran, one per line, or NULL.
 */
void sources_give(struct sources *s, struct answer *a, const char *changed);

#endif
