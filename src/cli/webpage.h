/* webpage - the report page of a trace, for commands that write it besides what they do. */
#ifndef CLI_WEBPAGE_H
#define CLI_WEBPAGE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Before anything else is done: can a page be written to that path? -1 with *err: not. */
int webpage_check(const char *path, struct err *err);
/* Of one trace; or of two, which are compared, in a list that ends with NULL. 0, or -1 with *err.
 */
int webpage_write(const char *const *traces, const char *path, struct err *err);
struct webpage_asked {       /* zeroed: all of a trace, of the host's memory */
    uint64_t from_ns, to_ns; /* a stretch that is told finer; to_ns 0: none */
    uint64_t space;          /* place in META.spaces of memory besides the host's */
    bool all_spaces;         /* with the data of each of them */
};
/* Only the data of one trace, deflated. 0, or -1 with *err. */
int webpage_data(const char *path, const struct webpage_asked *w, FILE *out, struct err *err);

#endif
