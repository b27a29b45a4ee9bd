/* event_rows - see event_rows.h. */
#include "report/event_rows.h"

#include "report/named.h"

#include <string.h>

struct event_rows event_rows_of(const struct answer *a)
{
    const struct table *t = named_table(a, "events");
    const struct table_cell *started = table_find_fact(named_table(a, "facts"), "started");

    return (struct event_rows){.table = t,
                               .stacks = named_table(a, "stacks"),
                               .time = named_column(t, "time"),
                               .event = named_column(t, "event"),
                               .bytes = named_column(t, "bytes"),
                               .live = named_column(t, "live"),
                               .block = named_column(t, "block"),
                               .process = named_column(t, "process"),
                               .pid = named_column(t, "pid"),
                               .tid = named_column(t, "tid"),
                               .device = named_column(t, "device"),
                               .stack = named_column(t, "stack"),
                               .started_ns = started ? started->number : 0};
}

/* A stack by its number, which is its row. */
static const struct table_stack *stack_at(const struct event_rows *r, uint64_t number)
{
    int column = named_column(r->stacks, "stack");
    const struct table_cell *c;

    if (!number || number > (uint64_t)r->stacks->rows || column < 0)
        return NULL;
    c = table_at(r->stacks, (int)number - 1, column);
    return c->present ? c->stack : NULL;
}

static uint64_t number(const struct event_rows *r, int row, int column, uint64_t absent)
{
    const struct table_cell *c = table_at(r->table, row, column);

    return c->present ? c->number : absent;
}

struct event_row event_row_at(const struct event_rows *r, int row)
{
    const struct table_cell *event = table_at(r->table, row, r->event);

    return (struct event_row){.freed = event->present && strcmp(event->text, "free") == 0,
                              .time_ns = number(r, row, r->time, 0),
                              .bytes = number(r, row, r->bytes, 0),
                              .live = number(r, row, r->live, 0),
                              .block = number(r, row, r->block, 0),
                              .process = number(r, row, r->process, 0),
                              .pid = number(r, row, r->pid, 0),
                              .tid = number(r, row, r->tid, 0),
                              .device = number(r, row, r->device, EVENT_DEVICE_NONE),
                              .stack = stack_at(r, number(r, row, r->stack, 0))};
}
