/* served - the report page of traces, over HTTP: for `serve`, and for a recording that goes on. */
#ifndef CLI_SERVED_H
#define CLI_SERVED_H

#include "base/arena.h"
#include "serve/serve.h"

#include <limits.h>

#define SERVED_MOST 2

struct served {
    struct serve serve;
    struct arena arena;
    char paths[SERVED_MOST][PATH_MAX];
    size_t told; /* bytes of a path that is not known from the start */
};

/* Ready to be asked at a port (NULL: any that is free), but nobody is answered yet. 0, or -1 with
 * *err.
 */
int served_open(struct served *s, const char *const *paths, const char *port, struct err *err);
/* The address, in the arena. */
const char *served_address(struct served *s);
void served_close(struct served *s);

/* Can the trace be read? In a process of its own, as it may be anybody's. */
int served_check(const char *path, struct err *err);

#endif
