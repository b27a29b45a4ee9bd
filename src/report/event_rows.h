/* event_rows - the table of the question `events`, row by row, for formats that tell events. */
#ifndef REPORT_EVENT_ROWS_H
#define REPORT_EVENT_ROWS_H

#include "questions/table.h"

#define EVENT_DEVICE_NONE UINT64_MAX

struct event_row {
    bool freed;
    uint64_t time_ns, bytes, live, block, process;
    uint64_t pid, tid;               /* 0: not known */
    uint64_t device;                 /* EVENT_DEVICE_NONE: memory of the host */
    const struct table_stack *stack; /* or NULL */
};

struct event_rows {
    const struct table *table, *stacks;
    int time, event, bytes, live, block, process, pid, tid, device, stack; /* columns */
    uint64_t started_ns;                                                   /* since 1970 */
};

struct event_rows event_rows_of(const struct answer *a);
struct event_row event_row_at(const struct event_rows *r, int row);

#endif
