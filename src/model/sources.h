/* sources - the text of source files that a trace carries. */
#ifndef MODEL_SOURCES_H
#define MODEL_SOURCES_H

#include "model/names.h"
#include "model/values.h"

struct sources { /* zeroed but for its arena: empty */
    struct arena *arena;
    struct sources_file *files;
    size_t count, room, bytes;
    struct intmap places; /* by the number of the path */
};

/* Take a SOURCE; others are left alone. `names` has the paths. */
void sources_take(struct sources *s, const struct names *names, const struct trace_event *ev);

/* All was taken: the `count` files, in the arena. `changed`: the paths of the files that changed
 * while the recording ran, one per line, or NULL.
 */
const struct table_source *sources_end(const struct sources *s, const char *changed);
void sources_free(struct sources *s);

#endif
