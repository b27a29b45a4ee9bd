/* coverage - which processes our library was not in, and why: said at the end of the recording, as
 * only then is known who has recorded itself.
 */
#ifndef WATCH_COVERAGE_H
#define WATCH_COVERAGE_H

#include "attach/obstacle.h"
#include "collect/collect.h"
#include "trace/store.h"

struct coverage {                /* zeroed: empty */
    struct coverage_process *of; /* by number in the trace, from 1 */
    size_t room;
    char **files; /* of those that record themselves, each once */
    size_t file_count, file_room;
};

enum coverage_kind {
    COVERAGE_UNSURE,
    COVERAGE_COPY,    /* of the process that forked it: no program that was started */
    COVERAGE_RENAMED, /* it was never seen alive, and has another name than who forked it: a program
                       that was started, most likely */
    COVERAGE_IMAGE,   /* the loader must have brought our library into it */
};

/* A process that was just seen for the first time, or after exec. It is looked at while it lives;
 * pid 0: not, as it is claimed next.
 */
void coverage_born(struct coverage *c, uint64_t number, uint64_t parent, int pid,
                   enum coverage_kind kind);
/* The same of the command, which may have ended before it could be looked at. */
void coverage_launched(struct coverage *c, uint64_t number, const char *command);
/* It records itself, and has told what it runs. */
void coverage_claimed(struct coverage *c, uint64_t number, const char *file);

/* A fact for each that was not recorded, or only in part; and how many more there were, by the
 * account, than were seen.
 */
void coverage_end(struct coverage *c, struct trace_store *store, uint64_t processes,
                  const struct collect_account *a);
void coverage_free(struct coverage *c);

#endif
