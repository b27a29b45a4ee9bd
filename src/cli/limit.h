/* limit - what a run may use at most, for tests and CI: --limit peak=512M, leak=1M, growth=10K/s,
 * allocations=1000000. */
#ifndef CLI_LIMIT_H
#define CLI_LIMIT_H

#include "base/err.h"
#include "procs/result.h"

#include <stdbool.h>
#include <stdint.h>

enum limit_kind { LIMIT_PEAK, LIMIT_LEAK, LIMIT_GROWTH, LIMIT_ALLOCATIONS, LIMIT_KINDS };

struct limits {
    bool set[LIMIT_KINDS];
    uint64_t most[LIMIT_KINDS];
};

/* For a table of options: KIND=VALUE. The second knows the peak alone: nothing else is seen from
 * outside. */
int limit_parse(const char *text, void *limits, struct err *err);
int limit_parse_peak(const char *text, void *bytes, struct err *err);

/* Say on standard error which limits a recording has broken, and by which lines; how many it were.
 * -1 with *err: the trace cannot be read. What is sampled counts as its estimate.
 */
int limit_check(const struct limits *l, const struct watch_result *r, const char *path,
                struct err *err);

#endif
