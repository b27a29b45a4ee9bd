/* process_lens - see process_lens.h. */
#include "model/process_lens.h"

#define MOST ((size_t)1 << 22) /* processes and threads: what is beyond is not seen */

static bool has(const struct intmap *map, uint64_t number)
{
    uint64_t value;

    return intmap_get(map, number, &value);
}

static void take_thread(struct process_lens *l, const struct trace_event *ev)
{
    if (!has(&l->processes, ev->thread.process) || l->threads.used == MOST)
        return;
    l->recorded++;
    intmap_put(&l->threads, ev->thread.thread, 1);
}

void process_lens_read(struct process_lens *l, struct trace *t, uint64_t pid)
{
    struct trace_event ev;

    *l = (struct process_lens){.pid = pid};
    for (int pass = 0; pass < 2;
         pass++) { /* who tells of processes may be later than their threads */
        trace_rewind(t, 0, UINT64_MAX);
        while (trace_next(t, &ev)) {
            if (pass == 0 && ev.kind == TRACE_PROCESS && ev.process.pid == pid &&
                l->processes.used < MOST)
                intmap_put(&l->processes, ev.process.process, 1);
            else if (pass == 1 && ev.kind == TRACE_THREAD)
                take_thread(l, &ev);
        }
    }
    trace_rewind(t, 0, UINT64_MAX);
}

void process_lens_free(struct process_lens *l)
{
    intmap_free(&l->processes);
    intmap_free(&l->threads);
}

/* Marks of nobody are of all. */
static bool shows_thread(const struct process_lens *l, uint64_t thread)
{
    return !thread || has(&l->threads, thread);
}

bool process_show(const struct process_lens *l, const struct trace_event *ev)
{
    if (!l)
        return true;
    switch (ev->kind) {
    case TRACE_ALLOC:
    case TRACE_FREE:
    case TRACE_CPU:
    case TRACE_WAIT:
    case TRACE_REGION:
    case TRACE_REGION_END:
    case TRACE_MARK:
    case TRACE_LABEL:
    case TRACE_MMAP:
    case TRACE_MUNMAP:
    case TRACE_COPY:
    case TRACE_SPACE_ALLOC:
    case TRACE_SPACE_FREE:
    case TRACE_SPACE_FAILED:
    case TRACE_LAUNCHES:
    case TRACE_DESCRIBED:
    case TRACE_ACCESS:
    case TRACE_POOL:
    case TRACE_WATCH:
        return shows_thread(l, ev->fields[0]);
    case TRACE_INFOS:
    case TRACE_INFO_CONTEXT:
    case TRACE_BATCH:
    case TRACE_RESIDENT:
    case TRACE_UNREACHED:
        return has(&l->processes, ev->fields[0]);
    default:
        return true;
    }
}
