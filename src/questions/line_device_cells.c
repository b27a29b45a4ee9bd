/* line_device_cells - see line_device_cells.h. */
#include "questions/line_device_cells.h"

#include "questions/heap_cells.h"

int line_device_width(const struct line_devices *d)
{
    return d->time_known || d->launches_known || d->memory_known ? LINE_DEVICE_WIDTH : 0;
}

/* What is not known of any line is known of none: it stays absent. */
void line_device_cells(const struct line_devices *d, struct table_cell *c,
                       const struct line_device *l)
{
    if (!line_device_width(d))
        return;
    if (d->time_known) {
        cell_rounded(&c[LINE_DEVICE_TIME], l->busy_ns);
        heap_cell_percent(&c[LINE_DEVICE_PERCENT], l->busy_ns, d->sum.busy_ns);
    }
    if (d->launches_known)
        cell_number(&c[LINE_DEVICE_LAUNCHES], l->launches);
    if (!d->memory_known)
        return;
    cell_number(&c[LINE_DEVICE_ALLOCATED], l->allocated);
    if (l->most || !l->allocated)
        cell_number(&c[LINE_DEVICE_MOST], l->most);
}

static const char *time_basis(const struct line_devices *d, struct arena *a)
{
    static const char *const ways[LINE_DEVICES_WAYS] = {"launches", "CPU time",
                                                        "waits of main threads"};
    const char *text = d->ours ? "sampled: how busy these processes kept devices"
                               : "sampled: how busy devices were, whoever used them";
    const char *by = NULL;

    for (int i = 0; i < LINE_DEVICES_WAYS; i++)
        if (d->shared_ns[i] > 0)
            by = by ? arena_printf(a, "%s, %s", by, ways[i]) : ways[i];
    return by ? arena_printf(a, "%s; shared out to lines by %s", text, by) : text;
}

void line_device_facts(const struct line_devices *d, struct answer *a, struct table *facts)
{
    if (d->time_known) {
        cell_rounded(table_fact(a, facts, "device_time", UNIT_NS), d->sum.busy_ns);
        cell_text(table_fact(a, facts, "device_time_basis", UNIT_TEXT), time_basis(d, a->arena));
    }
    if (d->time_known && d->left_ns > 0)
        cell_rounded(table_fact(a, facts, "device_time_of_no_line", UNIT_NS), d->left_ns);
    if (d->launches_known) {
        cell_number(table_fact(a, facts, "launches", UNIT_COUNT), d->sum.launches);
        cell_text(table_fact(a, facts, "launches_basis", UNIT_TEXT), "exact: each was counted");
    }
    if (d->memory_known)
        cell_text(
            table_fact(a, facts, "device_memory_basis", UNIT_TEXT),
            "exact: each allocation was recorded; device_most is the most that a line held at once");
}
