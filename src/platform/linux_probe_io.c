/* linux_probe_io - input and output of a process, from /proc/PID/io. */
#include "platform/probe.h"

#include "base/count.h"
#include "platform/linux_procfs.h"

#include <stdlib.h>
#include <string.h>

static void process(void *state, const struct proc *p, uint64_t number, const struct probe_sink *to)
{
    static const enum trace_metric order[] = {METRIC_READ_CHARS, METRIC_WRITE_CHARS,
                                              METRIC_READ_CALLS, METRIC_WRITE_CALLS,
                                              METRIC_READ_BYTES, METRIC_WRITE_BYTES};
    char text[512];
    const char *s = text;

    (void)state;
    if (!proc_read_io(p, text, sizeof(text)))
        return;
    for (int i = 0; i < COUNT(order) && (s = strchr(s, ':')) != NULL; i++)
        probe_put(to, TRACE_OF_PROCESS, number, order[i], strtoull(++s, NULL, 10));
}

extern const struct probe probe_io;
const struct probe probe_io = {.process = process};
