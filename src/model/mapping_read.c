/* mapping_read - see mapping_read.h. */
#include "model/mapping_read.h"

void mapping_read(struct mappings *m, struct threads *threads, const struct trace_event *ev)
{
    const struct threads_thread *t;

    if (ev->kind == TRACE_PROCESS_END) {
        mappings_end(m, ev->process_end.process, ev->time_ns);
    } else if (ev->kind == TRACE_RESIDENT) {
        mappings_looked(m, ev->time_ns, &ev->resident);
    } else if (ev->kind == TRACE_MMAP) {
        t = threads_find(threads, ev->mmap.thread);
        if (t)
            mappings_map(m, t->process, ev->time_ns, &ev->mmap);
    } else if (ev->kind == TRACE_MUNMAP) {
        t = threads_find(threads, ev->munmap.thread);
        if (t)
            mappings_unmap(m, t->process, ev->time_ns, &ev->munmap);
    }
}
