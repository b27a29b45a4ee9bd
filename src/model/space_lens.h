/* space_lens - memory besides the host's own: which there is of it in a trace, and how one is
 * looked at.
 *
 * A space is looked at through a lens. Its records become those of a heap, and those of the host's
 * memory are not seen: so every model and every question is about one space and knows nothing of
 * it, and bytes of two are never added up.
 */
#ifndef MODEL_SPACE_LENS_H
#define MODEL_SPACE_LENS_H

#include "model/names.h"
#include "trace/read.h"

#include <stdbool.h>

#define SPACE_HOST 0
#define SPACE_ORIGIN 255      /* of a block through the lens: no heap's, and each one is recorded */
#define SPACE_ADDRESS_FIELD 7 /* of such a block: where it is, as its library said; 0: not kept */
#define SPACES_MOST 64        /* of a trace; what is beyond is not looked at */

struct space_entry {
    uint64_t number;
    const char *name;
    enum trace_space_kind kind;
};

struct space_list { /* zeroed: none, but for the host */
    struct space_entry list[SPACES_MOST];
    size_t count;
};

/* Take a SPACE; others are left alone. Its string was taken before it. */
void space_list_take(struct space_list *l, const struct names *n, const struct trace_event *ev);

/* Which spaces a trace has, by its definitions alone. It stands at its beginning afterwards. */
void space_list_read(struct space_list *l, struct trace *t, struct arena *a);

/* NULL: it has none of that name. */
const struct space_entry *space_find(const struct space_list *l, const char *name);

/* Change a record into what it is for who looks at one space; false: it is nothing. */
bool space_show(uint64_t space, struct trace_event *ev);

#endif
