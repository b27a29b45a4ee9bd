/* asker - which line of a native program asked for memory. A program may have allocators of its own
 * (xmalloc, zmalloc, an operator new): it is the line that called them, as for sites (plumbing.h).
 */
#ifndef MODEL_ASKER_H
#define MODEL_ASKER_H

#include "base/intmap.h"
#include "model/blame.h"

struct asker { /* zeroed, but for the blame */
    const struct blame *blame;
    struct intmap allocators; /* function -> whether it is one */
};

/* False: it is the line that pays for the stack anyway. */
bool asker_find(struct asker *a, uint64_t stack, struct blame_name *out);
void asker_free(struct asker *a);

#endif
