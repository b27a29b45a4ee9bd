/* heap_entries - the allocations of a recording by who made them, the cell of their birth and that
 * of their death (see heap_edges.h): from that what lived, was allocated, kept or given back in any
 * window is a sum.
 *
 * Where blocks are recorded exactly, a free names the size and stack of its block, how many
 * allocations its thread made since, and a class of its age. The first names the block if they were
 * few; else it is the oldest that the age allows. What lives at an edge and what was allocated in a
 * cell are exact in any case.
 */
#ifndef MODEL_HEAP_ENTRIES_H
#define MODEL_HEAP_ENTRIES_H

#include "base/intmap.h"
#include "model/heap_edges.h"
#include "model/heap_entry.h"
#include "model/heap_labels.h"

struct heap_owner {
    uint64_t thread;
    uint32_t stack;
    uint32_t labels;
};

/* A stack that stands for this one: nobody tells them apart. */
typedef uint32_t heap_entries_like(void *context, uint32_t stack);

struct heap_pairing { /* of frees */
    uint64_t named, aged, ambiguous, fallback;
};

struct heap_entries { /* zeroed: not started */
    const struct heap_edges *edges;
    struct heap *heap;
    struct heap_labels *labels;
    heap_entries_like *like; /* NULL: each stands for itself */
    void *context;
    struct heap_order order;
    struct heap_owner *owners;
    size_t owner_count, owner_room;
    struct heap_entry_log log;    /* when it has ended: by owner, birth, death; each once */
    struct heap_entry_log mapped; /* of those, what programs mapped themselves */
    struct heap_pairing pairing;
    struct heap_entries_pass *pass;
};

/* Take the second pass. `like` may be set afterwards. */
void heap_entries_start(struct heap_entries *t, const struct heap_edges *g, struct heap *h,
                        struct heap_labels *labels);
void heap_entries_record(void *entries, const struct trace_event *ev);
void heap_entries_end(struct heap_entries *t);
void heap_entries_free(struct heap_entries *t);

/* Who: a number for each stack, thread and set of labels. */
uint32_t heap_entries_owner(struct heap_entries *t, uint64_t stack, uint64_t thread,
                            unsigned int labels);

#endif
