/* output - an answer into its file. It is written beside its place and moved there when it is
 * whole, so that a report that fails leaves the older one as it was.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/err.h"
#include "report/formats.h"

/* Write to `path`; NULL or "-": to standard output, whose errors main finds. `traces` are files
 * that it must not overwrite, up to a NULL.
 */
int output_write(const struct format *format, const struct answer *a, const char *path,
                 const char *const *traces, struct err *err);

#endif
