/* frame_names - give the frames of a trace their names, while the files that they are in are at
 * hand.
 */
#ifndef FINISH_FRAME_NAMES_H
#define FINISH_FRAME_NAMES_H

#include "base/err.h"
#include "base/rights.h"
#include "trace/store.h"

#include <stdbool.h>

/* Read the frames of the trace at `path`, which `store` is still writing, and add NAME records to
 * it. `ask`: servers, too, for debug information that is not here. -1 with *err when the trace
 * cannot be read back; what is not found stays without a name.
 */
int frame_names_add(const char *path, struct trace_store *store, bool ask,
                    const struct rights *rights, struct err *err);

#endif
