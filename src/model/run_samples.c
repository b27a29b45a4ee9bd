/* run_samples - see run_inner.h: what a sample says of a process, the tree, the machine or a
 * device.
 */
#include "model/run_inner.h"

void run_contribute(struct run *r, unsigned int i, const uint64_t *old, const uint64_t *new)
{
    uint32_t *holders = &r->state->holders[i];

    *holders += (new ? 1u : 0u) - (old ? 1u : 0u);
    r->sum.value[i] += (new ? *new : 0) - (old ? *old : 0);
    r->sum_mib.value[i] += (new ? *new >> 20 : 0) - (old ? *old >> 20 : 0);
    if (*holders)
        r->sum.present |= 1ull << i;
    else
        r->sum.present &= ~(1ull << i);
    r->sum_mib.present = r->sum.present;
}

/* Some kernels' files give the two parts alone. */
static void complete_cpu(struct metrics *m)
{
    uint64_t user, system;

    if (!metrics_has(m, METRIC_CPU_NS) && metrics_get(m, METRIC_USER_NS, &user) &&
        metrics_get(m, METRIC_SYSTEM_NS, &system))
        metrics_set(m, METRIC_CPU_NS, user + system);
}

static void on_value(struct run *r, struct run_process *p, unsigned int i, uint64_t value)
{
    bool counter = metrics_counter(i), had = metrics_has(&p->now, i);
    uint64_t old = p->now.value[i];

    if (counter && had && value < old)
        value = old; /* a counter that went back was misread */
    if (counter || !p->ended) {
        run_contribute(r, i, had ? &old : NULL, &value);
        metrics_set(&p->now, i, value);
    }
    metrics_raise(&p->most, i, value);
}

/* What a process had used before it was found belongs to no stretch of time of this recording. */
static void set_aside(struct run *r, struct run_process *p, const struct metrics *m)
{
    struct metrics *before = arena_alloc(r->names->arena, sizeof(*before));
    uint64_t cpu;

    p->before = before;
    for (unsigned int i = 0; i < METRICS_OF_PROCESS; i++) {
        if (!metrics_counter(i) || !metrics_has(m, i))
            continue;
        metrics_set(before, i, m->value[i]);
        metrics_set(&r->before, i, r->before.value[i] + m->value[i]);
    }
    if (r->ticks && metrics_get(m, METRIC_CPU_NS, &cpu))
        r->state->before_cpu += cpu;
}

static void on_process_sample(struct run *r, uint64_t number, const struct metrics *m)
{
    struct run_process *p = run_find(&r->state->processes, number);

    if (p && p->older && !p->before)
        set_aside(r, p, m);
    for (unsigned int i = 0; p && i < METRICS_OF_PROCESS; i++)
        if (metrics_has(m, i))
            on_value(r, p, i, m->value[i]);
}

static void on_run_sample(struct run *r, uint64_t time_ns, const struct metrics *m)
{
    if (metrics_has(m, metrics_place(METRIC_PEAK_LOWER)) ||
        metrics_has(m, metrics_place(METRIC_EXIT_STATUS)))
        r->final = *m;
    else if (metrics_has(m, METRIC_RSS) || metrics_has(m, metrics_place(METRIC_PROCESSES))) {
        r->tree = *m;
        r->state->ticking = true;
        r->state->tick_ns = time_ns;
    }
}

void run_on_sample(struct run *r, const struct trace_event *ev)
{
    struct metrics m = metrics_of(ev);

    if (ev->sample.subject == TRACE_OF_RUN || ev->sample.subject == TRACE_OF_PROCESS)
        complete_cpu(&m);
    switch (ev->sample.subject) {
    case TRACE_OF_RUN:
        on_run_sample(r, ev->time_ns, &m);
        break;
    case TRACE_OF_PROCESS:
        on_process_sample(r, ev->sample.id, &m);
        break;
    case TRACE_OF_MACHINE:
        if (!r->machine.present)
            r->machine_first = m;
        metrics_overlay(&r->machine, &m);
        break;
    case TRACE_OF_CGROUP:
        metrics_overlay(&r->cgroup, &m);
        break;
    case TRACE_OF_DEVICE:
        run_on_device_sample(r, ev->sample.id, &m);
        break;
    case TRACE_OF_DEVICE_USE:
        run_on_use_sample(r, ev->sample.id, &m);
        break;
    default:
        break;
    }
}

void run_measure_tree(struct run *r)
{
    struct run_state *s = r->state;
    uint64_t cpu;
    double span = r->ticks ? (double)s->tick_ns - (double)s->before_ns
                           : (double)s->tick_ns - s->oldest_ns;

    r->percent_known = metrics_get(&r->sum, METRIC_CPU_NS, &cpu) && span > 0;
    if (r->percent_known)
        r->percent = cpu > s->before_cpu ? (double)(cpu - s->before_cpu) / span * 100 : 0;
    if (metrics_has(&r->sum, METRIC_CPU_NS))
        s->before_cpu = cpu;
}

void run_measure_machine(struct run *r)
{
    struct run_state *s = r->state;
    uint64_t busy, all;
    bool known = metrics_get(&r->machine, METRIC_MACHINE_CPU_BUSY, &busy) &&
                 metrics_get(&r->machine, METRIC_MACHINE_CPU_ALL, &all);

    r->machine_percent_known = known && s->before_machine_known && all > s->before_all;
    if (r->machine_percent_known) /* busy can go back by a little: iowait does */
        r->machine_percent = busy > s->before_busy ? (double)(busy - s->before_busy) /
                                                         (double)(all - s->before_all) * 100
                                                   : 0;
    if (known) {
        s->before_busy = busy;
        s->before_all = all;
    }
    s->before_machine_known = known;
}
