/* fail_if - a condition on what a comparison found, for CI: 'peak>+5%', 'leaked>+1M',
 * 'allocated>10G'. */
#ifndef CLI_FAIL_IF_H
#define CLI_FAIL_IF_H

#include "base/err.h"
#include "questions/table.h"

#define FAIL_IF_MOST 16

struct fail_if {
    struct condition {
        const char *text;
        char name[32];
        bool change, percent; /* of the second against the first; in percent */
        double limit;
    } list[FAIL_IF_MOST];
    int count;
};

/* For a table of options. */
int fail_if_parse(const char *text, void *fail_if, struct err *err);

/* Say which conditions hold, on standard error; how many it are, or -1 with *err: one names nothing
 * that the answer's totals have.
 */
int fail_if_check(const struct fail_if *f, const struct answer *a, struct err *err);

#endif
