/* run_report - the report of `tidemark run`: text, JSON, CSV, or one number. */
#ifndef REPORT_RUN_REPORT_H
#define REPORT_RUN_REPORT_H

#include "base/emit.h"
#include "procs/result.h"

#include <stdio.h>

/* What a run is compared with. */
struct baseline {
    const char *version, *created_at, *command;
    uint64_t peak_rss, peak_vsz, duration_ms; /* vsz may be ABSENT */
    const char *platform, *arch;
    int64_t main_pid; /* -1: not known */
};

struct run_style {
    const char *unit; /* NULL: whatever fits */
    bool verbose;
    bool timeline; /* the samples go into the JSON */
};

void run_report_text(const struct watch_result *r, const struct run_style *s, FILE *out);
void run_report_json(const struct watch_result *r, const struct run_style *s, FILE *out);
void run_report_csv(const struct watch_result *r, FILE *out);
void run_report_quiet(const struct watch_result *r, FILE *out);

/* One element of a timeline. */
void run_report_point(struct emit *j, const struct watch_point *p);

/* The difference to a baseline. A regression is a growth of the peak by more than `limit` percent.
 */
struct comparison {
    const struct baseline *was;
    const struct watch_result *now;
    double limit;
};

/* By how much `now` is more, in percent; not a number where one is ABSENT. */
double compare_percent(uint64_t was, uint64_t now);
bool compare_regressed(const struct comparison *c);
void compare_text(const struct comparison *c, const struct run_style *s, FILE *out);
void compare_json(const struct comparison *c, const struct run_style *s, FILE *out);
void compare_csv(const struct comparison *c, FILE *out);
void compare_quiet(const struct comparison *c, FILE *out);

void baseline_json(struct emit *j, const struct baseline *b);

#endif
