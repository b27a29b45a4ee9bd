/* residence - what was resident of large blocks and mappings when the recorder looked at their
 * pages (RESIDENT), up to one moment: of each process its last look before.
 */
#ifndef MODEL_RESIDENCE_H
#define MODEL_RESIDENCE_H

#include "base/intmap.h"
#include "trace/read.h"

struct residence_entry { /* a block or a mapping */
    uint64_t stack, bytes, resident;
    enum trace_memory memory;
};

struct residence_looks { /* zeroed: none */
    struct residence_process {
        uint64_t number, time_ns;
        struct residence_entry *entries;
        size_t count, room;
        bool ended;
    } * processes;
    size_t count, room;
    struct intmap places; /* process -> place */
};

/* Take a RESIDENT or a PROCESS_END; others are left alone. */
void residence_take(struct residence_looks *l, const struct trace_event *ev);
/* Forget looks from before a time: they say nothing of the moment. */
void residence_since(struct residence_looks *l, uint64_t time_ns);
/* How many processes were looked at, that live. */
size_t residence_processes(const struct residence_looks *l);
void residence_free(struct residence_looks *l);

#endif
