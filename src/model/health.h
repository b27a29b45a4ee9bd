/* health - what a trace lacks, in one line: the first line of every report. */
#ifndef MODEL_HEALTH_H
#define MODEL_HEALTH_H

#include "model/run_data.h"

/* In the run's arena; NULL: it lacks nothing. */
const char *health_line(const struct run *r, struct trace_health h);

#endif
