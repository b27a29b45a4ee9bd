/* exact_since - processes of a sampled recording of which every block from a size on was recorded,
 * since they had loaded a framework of deep learning.
 */
#ifndef MODEL_EXACT_SINCE_H
#define MODEL_EXACT_SINCE_H

#include "base/intmap.h"
#include "model/names.h"

struct exact_since {     /* of a process or of a run; from 0: of none */
    uint64_t from, most; /* blocks of so many bytes and more; at times, at the worst, of so many */
    uint64_t time_ns;    /* the first time */
    const char *library; /* the first */
    uint64_t processes;
};

struct exact_since_pass { /* zeroed: nothing yet */
    struct intmap threads, found;
};

/* Take a THREAD or a MARK; others are left alone. */
void exact_since_take(struct exact_since_pass *p, struct names *n, const struct trace_event *ev);
/* Of one process, by its number, into what is known of all; NULL: it has none. */
const struct exact_since *exact_since_of(const struct exact_since_pass *p, uint64_t process,
                                         struct exact_since *all);
void exact_since_free(struct exact_since_pass *p);

/* "blocks of 4.0 KiB and more exactly since libtorch_cpu.so was loaded, others sampled"; `some`:
 * not all of the run's processes.
 */
const char *exact_since_said(const struct exact_since *s, bool some, struct arena *a);

#endif
