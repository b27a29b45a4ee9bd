/* cpu_read - see cpu_read.h. */
#include "analyze/cpu_read.h"

void cpu_read(struct cpu_time *time, struct frames *frames, struct run *run, struct trace *t,
              const struct question_options *o, struct arena *arena)
{
    struct trace_event ev;

    *time = (struct cpu_time){.from_ns = o->from_ns, .to_ns = o->to_ns};
    frames->names.arena = run->names.arena = arena;
    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev)) {
        cpu_time_take(time, &ev);
        frames_take(frames, &ev);
    }
    trace_rewind(t, 0, UINT64_MAX);
    run_read(run, arena, t, NULL, NULL);
}
