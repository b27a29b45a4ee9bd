/* line_device_cells - what the question `lines` says of devices: columns behind all others, where
 * there is something to say, and facts with the basis of each.
 */
#ifndef QUESTIONS_LINE_DEVICE_CELLS_H
#define QUESTIONS_LINE_DEVICE_CELLS_H

#include "model/line_devices.h"
#include "questions/table.h"

enum line_device_column {
    LINE_DEVICE_TIME,
    LINE_DEVICE_PERCENT,
    LINE_DEVICE_LAUNCHES,
    LINE_DEVICE_ALLOCATED,
    LINE_DEVICE_MOST,
    LINE_DEVICE_WIDTH,
};

// clang-format off
#define LINE_DEVICE_COLUMNS(at)                                                                    \
    [(at) + LINE_DEVICE_TIME] = {"device_time", UNIT_NS},                                          \
    [(at) + LINE_DEVICE_PERCENT] = {"device_percent", UNIT_PERCENT, .detail = true},               \
    [(at) + LINE_DEVICE_LAUNCHES] = {"launches", UNIT_COUNT},                                      \
    [(at) + LINE_DEVICE_ALLOCATED] = {"device_allocated", UNIT_BYTES, .detail = true},             \
    [(at) + LINE_DEVICE_MOST] = {"device_most", UNIT_BYTES}
// clang-format on

/* How many of these columns there are: all, or none. */
int line_device_width(const struct line_devices *d);
/* Fill them, `c` being the first; `l` is a line of it, or a sum. */
void line_device_cells(const struct line_devices *d, struct table_cell *c,
                       const struct line_device *l);
void line_device_facts(const struct line_devices *d, struct answer *a, struct table *facts);

#endif
