/* line_sums - everything that a recording knows of a line of source and of a function: CPU time,
 * waits, memory, copies. The lines, with those that stand for code outside of the scope, add up to
 * the whole.
 */
#ifndef ANALYZE_LINE_SUMS_H
#define ANALYZE_LINE_SUMS_H

#include "analyze/blame.h"
#include "analyze/cpu_time.h"
#include "analyze/heap.h"
#include "analyze/heap_series.h"
#include "analyze/sources.h"

struct line_sum {
    struct cpu_sums cpu;
    struct heap_amount allocated, python; /* python: by its own allocators, a part of it */
    struct heap_amount at_peak, alive;
    uint32_t mark; /* line_sums' own */
};

struct line_sums {
    struct heap heap;
    struct cpu_time time;
    struct scope scope;
    struct blame blame;
    struct sources sources;
    struct heap_series series;
    struct line_sum *lines;           /* by line of blame */
    struct line_sum *selves, *totals; /* by function of blame; totals: with what it called */
    struct line_sum sum;              /* of all lines */
    bool cpu_known, waits_known, copies_known, memory_known; /* was it recorded at all? */
    uint32_t *started;  /* by stack: who started the thread that has it; NULL: nobody did */
    uint32_t *creators; /* by place in heap.threads: the line that started it, or UINT32_MAX */
};

void line_sums_read(struct line_sums *s, struct answer *a, struct trace *t,
                    const struct question_options *o);
void line_sums_free(struct line_sums *s);

/* Nothing is known of it at all. */
bool line_sum_is_empty(const struct line_sum *l);
void line_sum_add(struct line_sum *to, const struct line_sum *from);
/* What decides its place: its largest share of anything, 0 to 1. */
double line_sums_weight(const struct line_sums *s, const struct line_sum *l);

/* The columns that `lines`, `functions` and files share. */
// clang-format off
#define LINE_SUMS_COLUMNS                                                                          \
    {"cpu_percent", UNIT_PERCENT}, {"cpu", UNIT_NS}, {"python", UNIT_NS}, {"native", UNIT_NS},     \
    {"system", UNIT_NS}, {"cpu_error_percent", UNIT_PERCENT}, {"waiting", UNIT_NS},                \
    {"allocated", UNIT_BYTES}, {"blocks", UNIT_COUNT},                                             \
    {"allocated_error_percent", UNIT_PERCENT}, {"python_percent", UNIT_PERCENT},                   \
    {"at_peak", UNIT_BYTES}, {"alive", UNIT_BYTES}, {"copied", UNIT_BYTES}, {"copy_time", UNIT_NS}
// clang-format on
#define LINE_SUMS_DETAIL                                                                           \
    0x773cu /* all but the percent, CPU, waits, what was allocated and the peak */
#define LINE_SUMS_WIDTH 15

/* Fill LINE_SUMS_WIDTH cells; what was not recorded stays absent. */
void line_sums_cells(const struct line_sums *s, struct table_cell *c, const struct line_sum *l);

/* What is outside of the scope, in one sentence with its share; NULL: nothing is. */
const char *line_sums_outside(const struct line_sums *s, struct arena *a);

#endif
