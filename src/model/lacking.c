/* lacking - see lacking.h. */
#include "model/lacking.h"

#include <inttypes.h>

void lacking_loss(struct lacking *l, const struct trace_event *ev)
{
    switch (ev->loss.what) {
    case TRACE_LOST_FULL:
    case TRACE_LOST_NESTED:
        if (ev->present >= 3)
            l->events += ev->loss.count;
        else
            l->parts = true;
        break;
    case TRACE_LOST_TORN:
    case TRACE_LOST_TICKS:
        break;
    case TRACE_LOST_PROGRAMS:
        l->more = true;
        break;
    default: /* also what a later recorder may lose */
        l->parts = true;
        break;
    }
}

const char *lacking_but(const struct lacking *l, struct arena *a)
{
    const char *events = l->events ? arena_printf(a, " but for %" PRIu64 " lost event%s", l->events,
                                                  l->events == 1 ? "" : "s")
                                   : "";

    if (!l->parts)
        return events;
    return l->events ? arena_printf(a, "%s and parts that were not counted", events)
                     : " but for parts that were lost";
}

const char *lacking_said(const struct lacking *l, struct arena *a, const char *basis)
{
    if (l->more)
        basis = arena_printf(a, "at least: %s for what was recorded", basis);
    return l->events || l->parts ? arena_printf(a, "%s%s", basis, lacking_but(l, a)) : basis;
}
