/* run_baseline - the baseline side of `run`: what a peak is compared with, where it is kept, which
 * there are.
 */
#ifndef CLI_RUN_BASELINE_H
#define CLI_RUN_BASELINE_H

#include "cli/baseline.h"
#include "procs/result.h"

struct run_baseline {
    const char *directory;      /* NULL: the usual one */
    const char *save, *compare; /* names; at most one is not NULL */
    const char *path;           /* of that one, once it is prepared */
    struct baseline was;        /* what is compared with */
};

/* Before the command runs: load what is compared with, or see to it that the other can be saved. */
int run_baseline_prepare(struct run_baseline *k, struct arena *a, struct err *err);
/* Keep this run as `save`. */
int run_baseline_keep(const struct run_baseline *k, struct arena *a, const struct watch_result *r,
                      struct err *err);

void run_baseline_list(const struct run_baseline *k, struct arena *a);
int run_baseline_delete(const struct run_baseline *k, struct arena *a, const char *name,
                        struct err *err);

#endif
