/* incident - see incident.h. */
#include "model/incident.h"

static const char *tail_of(struct run *r, const struct trace_event *ev)
{
    return ev->tail_bytes ? names_keep(r->names, ev->tail, ev->tail_bytes) : NULL;
}

void incident_alert(struct run *r, const struct trace_event *ev, const struct run_process *p)
{
    if (r->alert_count++ >= RUN_EVENTS_MOST)
        return;
    if (!r->alerts)
        r->alerts = arena_alloc(r->names->arena, RUN_EVENTS_MOST * sizeof(*r->alerts));
    r->alerts[r->alert_count - 1] = (struct run_alert){
        .time_ns = ev->time_ns,
        .metric = ev->alert.metric,
        .limit = ev->alert.limit,
        .value = ev->alert.value,
        .process = p,
        .text = tail_of(r, ev),
    };
}

void incident_loss(struct run *r, const struct trace_event *ev, const struct run_process *p)
{
    if (r->loss_count++ >= RUN_EVENTS_MOST)
        return;
    if (!r->losses)
        r->losses = arena_alloc(r->names->arena, RUN_EVENTS_MOST * sizeof(*r->losses));
    r->losses[r->loss_count - 1] = (struct run_loss){
        .time_ns = ev->time_ns,
        .count = ev->loss.count,
        .has_count = ev->present >= 3,
        .bytes = ev->loss.bytes,
        .has_bytes = ev->present >= 4,
        .process = p,
        .reason = tail_of(r, ev),
    };
}
