/* linetable - the line of an instruction, out of the table that a code object carries. */
#ifndef PYTHON_LINETABLE_H
#define PYTHON_LINETABLE_H

#include "python/layout.h"

#define PY_LINE_MOST 0xffffff

/* How far a table was read: a program goes on in its functions, and need not be followed from their
 * start. */
struct py_line_place {
    uint32_t read; /* bytes of the table */
    uint32_t end;  /* of the code that they are for */
    int64_t line;  /* after them */
};

/* The line of the instruction that starts at byte `at` of the code; 0: it has none, or the table is
 * broken. The table is `bytes` long at address `table`; the function starts in line `first`. *place
 * is zeroed at first, or of the last time for the same table; NULL: it is not kept.
 */
uint32_t py_line(enum py_lines format, const struct py_memory *m, uintptr_t table, size_t bytes,
                 int32_t first, uint32_t at, struct py_line_place *place);

#endif
