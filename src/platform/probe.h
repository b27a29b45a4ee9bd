/* probe - something that is measured at every tick of a recording besides what `run` itself needs:
 * one file each, SYSTEM_probe_NAME.c, and its name in the list of the system in src/meson.build.
 *
 * What it reads it puts: metrics of trace/metric_list.h, of a process or of the machine. Reports
 * show them by the list there; a value that is not known is left out. Accelerators are no probes:
 * see devices/kinds.h.
 */
#ifndef PLATFORM_PROBE_H
#define PLATFORM_PROBE_H

#include "platform/platform.h"

struct probe_sink {
    void *context;
    void (*put)(void *context, enum trace_subject subject, uint64_t id, enum trace_metric metric,
                uint64_t value);
};

struct probe {
    size_t state; /* bytes that it keeps between calls, zeroed at first */
    /* One process that lives; `number` is for probe_put. NULL: it has nothing to say of processes.
     */
    void (*process)(void *state, const struct proc *p, uint64_t number,
                    const struct probe_sink *to);
    /* All else, once per tick; NULL: nothing. */
    void (*tick)(void *state, const struct probe_sink *to);
    void (*close)(void *state); /* NULL: nothing to close */
};

extern const struct probe *const probes[]; /* of this system; NULL-terminated */

/* `subject` and `id` as in a SAMPLE of the trace; ABSENT is left out. */
static inline void probe_put(const struct probe_sink *to, enum trace_subject subject, uint64_t id,
                             enum trace_metric metric, uint64_t value)
{
    if (value != ABSENT)
        to->put(to->context, subject, id, metric, value);
}

#endif
