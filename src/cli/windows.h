/* windows - which steps are recorded with stacks: --steps and --deferred of `record` and `attach`.
 */
#ifndef CLI_WINDOWS_H
#define CLI_WINDOWS_H

#include "base/err.h"
#include "procs/result.h"
#include "trace/ring.h"
#include "trace/store.h"

#include <stdbool.h>

struct windows {
    const char *text; /* as it was asked for */
    uint32_t count;
    struct ring_window list[RING_WINDOWS];
};

/* "5-20,40,100-": for a table of options; `to` is a struct windows. */
int windows_parse(const char *text, void *to, struct err *err);

/* The trace says what was asked for. */
void windows_put(struct trace_store *s, const struct windows *w, bool deferred);

/* Say on standard error if none of them ever came. */
void windows_say(const struct windows *w, bool deferred, const struct watch_result *r);

#endif
