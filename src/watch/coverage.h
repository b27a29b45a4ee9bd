/* coverage - which processes our library was not in, and why: said at the end of the recording, as
 * only then is known who has recorded itself.
 */
#ifndef WATCH_COVERAGE_H
#define WATCH_COVERAGE_H

#include "trace/store.h"
#include "watch/obstacle.h"

struct coverage {                /* zeroed: empty */
    struct coverage_process *of; /* by number in the trace, from 1 */
    size_t room;
};

/* A process that was just seen for the first time, or after exec. `image`: it is not a mere copy of
 * its parent, so the loader must have brought our library into it.
 */
void coverage_born(struct coverage *c, uint64_t number, int pid, bool image);
/* It records itself, and has told what it runs. */
void coverage_claimed(struct coverage *c, uint64_t number, const char *file);

/* A fact for each that was not recorded, or only in part. */
void coverage_end(struct coverage *c, struct trace_store *store, uint64_t processes);
void coverage_free(struct coverage *c);

#endif
