/* resident_sites - what is resident, by site: from the pages of large blocks and mappings where
 * they were looked at, and in proportion to size of what is smaller.
 */
#ifndef QUESTIONS_RESIDENT_SITES_H
#define QUESTIONS_RESIDENT_SITES_H

#include "model/heap.h"
#include "model/residence.h"

struct resident_site {
    struct table_frame site;
    uint64_t stack; /* of the one that is largest */
    uint64_t most;
    enum trace_memory memory;
    uint64_t bytes, resident;
};

struct resident_sites {
    struct resident_site *list;
    size_t count, room;
    struct intmap places;
    struct resident_site sums[TRACE_MEMORY_KINDS];
};

void resident_sites_read(struct resident_sites *s, const struct frames *f,
                         const struct residence_looks *l);
/* What was looked at of a site; all 0: nothing. */
struct resident_site resident_sites_find(const struct resident_sites *s,
                                         const struct table_frame *site, enum trace_memory memory);
void resident_sites_free(struct resident_sites *s);

#endif
