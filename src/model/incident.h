/* incident - what went wrong during a run: limits that were crossed, and what was not recorded. */
#ifndef MODEL_INCIDENT_H
#define MODEL_INCIDENT_H

#include "model/run_data.h"

/* Count it, and keep it if it is among the first RUN_EVENTS_MOST. `p` may be NULL. */
void incident_alert(struct run *r, const struct trace_event *ev, const struct run_process *p);
void incident_loss(struct run *r, const struct trace_event *ev, const struct run_process *p);

#endif
