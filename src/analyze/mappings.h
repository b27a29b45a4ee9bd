/* mappings - what programs have mapped themselves (MMAP, MUNMAP) at one moment of a trace: any part
 * of a mapping may be unmapped or mapped over. Zeroed: none.
 */
#ifndef ANALYZE_MAPPINGS_H
#define ANALYZE_MAPPINGS_H

#include "base/intmap.h"
#include "trace/read.h"

struct mappings {
    void *tree;            /* of disjoint mappings; see tsearch(3) */
    struct intmap threads; /* -> process */
    size_t count;
    /* That are mapped now; arenas: of allocators whose blocks are in the heap already. */
    uint64_t anonymous_bytes, file_bytes, arena_bytes;
    uint64_t left_out; /* records above the limit of this reader */
};

/* Take a THREAD, MMAP, MUNMAP or PROCESS_END; others are left alone. */
void mappings_take(struct mappings *m, const struct trace_event *ev);
void mappings_free(struct mappings *m);

#endif
