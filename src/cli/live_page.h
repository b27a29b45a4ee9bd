/* live_page - the report page of a recording while it goes on: served by a process that is no child
 * of the recorder, so that neither the recording nor what it records is another one for it.
 */
#ifndef CLI_LIVE_PAGE_H
#define CLI_LIVE_PAGE_H

#include "base/arena.h"
#include "base/err.h"

struct live_page { /* zeroed: there is none */
    int tell,
        gone; /* to it, while the recording goes on; ends when it has ended. 0: there is none */
    const char *address; /* in the arena */
};

/* Before anything else has been opened or started. 0, or -1 with *err. */
int live_page_start(struct live_page *l, const char *port, struct arena *a, struct err *err);
/* What is recorded to. */
void live_page_of(const struct live_page *l, const char *path);
/* The recording has ended: until all who look have seen that. */
void live_page_end(struct live_page *l);

#endif
