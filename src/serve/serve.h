/* serve - the report page over HTTP, on this machine alone: the page and its data, and no file. Who
 * asks must know the secret of the address.
 *
 *     GET /TOKEN/                              the page
 *     GET /TOKEN/data?run=0&from=US&to=US      its data; a stretch of it finer
 *     GET /TOKEN/data?space=N                  that of memory besides the host's
 *     GET /TOKEN/data?newer=VERSION            when there is newer data: it is being recorded
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "serve/connection.h"
#include "serve/job.h"
#include "serve/listen.h"

struct serve {
    struct place place;
    struct body *page;
    const char *policy; /* of the page */
    unsigned int runs;  /* how many recordings there are */
    void *context;
    /* The data, in a process of its own; 0, or -1 with *err. */
    int (*make)(void *context, const struct serve_asked *a, FILE *out, struct err *err);
    uint64_t (*stamp)(void *context); /* another one where the data would be another */
    /* Of a recording that goes on: bytes come from here for `told`, and its end is the end of the
     * recording; -1: it has ended.
     */
    int recorder;
    void (*told)(void *context, const char *bytes, size_t count);
};

/* Until a signal ends it (SIGINT, SIGTERM, SIGHUP); or, of a recording that goes on, until it has
 * ended and all who look have seen that.
 */
void serve_run(struct serve *s);

#endif
