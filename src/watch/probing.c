/* probing - see probing.h. Values that follow each other of one subject become one SAMPLE. */
#include "watch/probing.h"

#include "base/memory.h"

#include <stdlib.h>

#define FIELDS(s) (const uint64_t *)&(s), sizeof(s) / sizeof(uint64_t)

void probing_begin(struct probing *p, const struct probe *const *list, struct trace_store *store)
{
    size_t count = 0;

    while (list[count])
        count++;
    *p = (struct probing){.probes = list, .store = store};
    p->states = memory_zeroed((count + 1) * sizeof(*p->states));
    for (size_t i = 0; i < count; i++)
        p->states[i] = memory_zeroed(list[i]->state + 1);
}

static void flush(struct probing *p)
{
    struct trace_sample s = {p->subject, p->id};

    if (p->count)
        trace_store_put(p->store, TRACE_SAMPLE, p->time_ns, FIELDS(s), p->pairs, p->count);
    p->count = 0;
}

static void put(void *context, enum trace_subject subject, uint64_t id, enum trace_metric metric,
                uint64_t value)
{
    struct probing *p = context;

    if (subject != p->subject || id != p->id || p->count == TRACE_METRIC_COUNT)
        flush(p);
    p->subject = subject;
    p->id = id;
    p->pairs[p->count++] = (struct trace_pair){metric, value};
}

void probing_process(struct probing *p, uint64_t time_ns, const struct proc *proc, uint64_t number,
                     const struct trace_pair *pairs, size_t count)
{
    const struct probe_sink to = {p, put};

    p->time_ns = time_ns;
    for (size_t i = 0; i < count; i++)
        put(p, TRACE_OF_PROCESS, number, (enum trace_metric)pairs[i].metric, pairs[i].value);
    for (size_t i = 0; p->probes[i]; i++)
        if (p->probes[i]->process)
            p->probes[i]->process(p->states[i], proc, number, &to);
    flush(p);
}

void probing_tick(struct probing *p, uint64_t time_ns)
{
    const struct probe_sink to = {p, put};

    p->time_ns = time_ns;
    for (size_t i = 0; p->probes[i]; i++)
        if (p->probes[i]->tick)
            p->probes[i]->tick(p->states[i], &to);
    flush(p);
}

void probing_end(struct probing *p)
{
    for (size_t i = 0; p->states && p->probes[i]; i++) {
        if (p->probes[i]->close)
            p->probes[i]->close(p->states[i]);
        free(p->states[i]);
    }
    free(p->states);
    *p = (struct probing){0};
}
