/* cpu_read - what the questions of CPU time and of copies read of a trace, in one place. */
#ifndef ANALYZE_CPU_READ_H
#define ANALYZE_CPU_READ_H

#include "analyze/cpu_time.h"
#include "analyze/frames.h"
#include "analyze/question.h"
#include "analyze/run.h"

/* All three zeroed before; time and frames are to be freed. */
void cpu_read(struct cpu_time *time, struct frames *frames, struct run *run, struct trace *t,
              const struct question_options *o, struct arena *arena);

#endif
