/* webpage - the report page of a trace, for commands that write it besides what they do. */
#ifndef CLI_WEBPAGE_H
#define CLI_WEBPAGE_H

#include "base/err.h"

#include <stdint.h>
#include <stdio.h>

/* Before anything else is done: can a page be written to that path? -1 with *err: not. */
int webpage_check(const char *path, struct err *err);
/* Of one trace; or of two, which are compared, in a list that ends with NULL. 0, or -1 with *err.
 */
int webpage_write(const char *const *traces, const char *path, struct err *err);
/* Only the data of one trace, deflated; a stretch of it (to_ns 0: none) finer. 0, or -1 with *err. */
int webpage_data(const char *path, uint64_t from_ns, uint64_t to_ns, FILE *out, struct err *err);

#endif
