/* line_cells - what `lines`, `functions` and files show of a sum: columns, cells, and what no line
 * pays. */
#ifndef QUESTIONS_LINE_CELLS_H
#define QUESTIONS_LINE_CELLS_H

#include "model/line_sums.h"
#include "questions/table.h"

/* What the trace lacks, and the text of its sources. */
void line_cells_answer(struct answer *a, const struct line_sums *s);

/* The columns that `lines`, `functions` and files share, from `at` on. */
enum line_sums_column {
    LINE_SUMS_CPU_PERCENT,
    LINE_SUMS_CPU,
    LINE_SUMS_PYTHON,
    LINE_SUMS_NATIVE,
    LINE_SUMS_SYSTEM,
    LINE_SUMS_CPU_ERROR_PERCENT,
    LINE_SUMS_WAITING,
    LINE_SUMS_ALLOCATED,
    LINE_SUMS_BLOCKS,
    LINE_SUMS_ALLOCATED_ERROR_PERCENT,
    LINE_SUMS_PYTHON_PERCENT,
    LINE_SUMS_AT_PEAK,
    LINE_SUMS_AT_PEAK_ERROR_PERCENT,
    LINE_SUMS_MAPPED_AT_PEAK,
    LINE_SUMS_ALIVE,
    LINE_SUMS_COPIED,
    LINE_SUMS_COPY_TIME,
    LINE_SUMS_WIDTH,
};

// clang-format off
#define LINE_SUMS_COLUMNS(at)                                                                      \
    [(at) + LINE_SUMS_CPU_PERCENT] = {"cpu_percent", UNIT_PERCENT},                                \
    [(at) + LINE_SUMS_CPU] = {"cpu", UNIT_NS},                                                     \
    [(at) + LINE_SUMS_PYTHON] = {"python", UNIT_NS, .detail = true},                               \
    [(at) + LINE_SUMS_NATIVE] = {"native", UNIT_NS, .detail = true},                               \
    [(at) + LINE_SUMS_SYSTEM] = {"system", UNIT_NS, .detail = true},                               \
    [(at) + LINE_SUMS_CPU_ERROR_PERCENT] = {"cpu_error_percent", UNIT_PERCENT, .detail = true},    \
    [(at) + LINE_SUMS_WAITING] = {"waiting", UNIT_NS},                                             \
    [(at) + LINE_SUMS_ALLOCATED] = {"allocated", UNIT_BYTES},                                      \
    [(at) + LINE_SUMS_BLOCKS] = {"blocks", UNIT_COUNT, .detail = true},                            \
    [(at) + LINE_SUMS_ALLOCATED_ERROR_PERCENT] = {"allocated_error_percent", UNIT_PERCENT, .detail = true},\
    [(at) + LINE_SUMS_PYTHON_PERCENT] = {"python_percent", UNIT_PERCENT, .detail = true},          \
    [(at) + LINE_SUMS_AT_PEAK] = {"at_peak", UNIT_BYTES},                                          \
    [(at) + LINE_SUMS_AT_PEAK_ERROR_PERCENT] = {"at_peak_error_percent", UNIT_PERCENT},            \
    [(at) + LINE_SUMS_MAPPED_AT_PEAK] = {"mapped_at_peak", UNIT_BYTES, .detail = true},            \
    [(at) + LINE_SUMS_ALIVE] = {"alive", UNIT_BYTES, .detail = true},                              \
    [(at) + LINE_SUMS_COPIED] = {"copied", UNIT_BYTES, .detail = true},                            \
    [(at) + LINE_SUMS_COPY_TIME] = {"copy_time", UNIT_NS, .detail = true}
// clang-format on

/* Fill these columns, `c` being the first of them; what was not recorded stays absent. */
void line_sums_cells(const struct line_sums *s, struct table_cell *c, const struct line_sum *l);

/* What is outside of the scope, in one sentence with its share; NULL: nothing is. */
const char *line_sums_outside(const struct line_sums *s, struct arena *a);

#endif
