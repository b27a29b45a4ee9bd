/* linetable - the line of an instruction, out of the table that a code object carries. */
#ifndef PYTHON_LINETABLE_H
#define PYTHON_LINETABLE_H

#include "python/layout.h"

#define PY_LINE_MOST 0xffffff

/* The line of the instruction that starts at byte `at` of the code; 0: it has none, or the table is
 * broken. The table is `bytes` long at address `table`; the function starts in line `first`.
 */
uint32_t py_line(enum py_lines format, const struct py_memory *m, uintptr_t table, size_t bytes,
                 int32_t first, uint32_t at);

#endif
