/* run - the one pass over a recording. Every number in it came from a file and may be nonsense:
 * processes and devices have limits, and a parent is always an earlier process, so the
 * tree has no cycle.
 */
#include "analyze/run.h"

#include "analyze/health.h"
#include "analyze/incident.h"
#include "base/intmap.h"

#include <string.h>

#define PROCESSES_MOST (1u << 20)
#define DEVICES_MOST 256u

struct run_state { /* what only the pass itself needs */
    struct intmap processes, pids, devices;
    struct intmap recorded; /* processes that had a thread inside, a set */
    struct intmap ran;      /* process number -> what it ran, where it was seen too late */
    size_t process_room;
    uint32_t holders[METRICS_ROOM];
    struct run_process *last_root;
    double oldest_ns; /* when the oldest process began; before the recording: negative */
    bool ticking;     /* a tick waits for the first later event */
    uint64_t tick_ns, before_ns;
    uint64_t before_cpu, before_busy, before_all;
    uint64_t paused, paused_at_ns; /* how many pauses last, since when */
    bool before_machine_known;
};

static void *find(const struct intmap *m, uint64_t number)
{
    uint64_t value;

    return intmap_get(m, number, &value) ? (void *)(uintptr_t)value : NULL;
}

static void file_under(struct intmap *m, uint64_t number, void *what)
{
    intmap_put(m, number, (uint64_t)(uintptr_t)what);
}

bool run_tree(const struct run *r, enum trace_metric metric, uint64_t *value)
{
    if (metrics_get(&r->tree, metric, value))
        return true;
    /* It is read seldom, for some processes: what was read at other moments is no sum of now. */
    return metric != METRIC_PSS && metrics_get(&r->sum, metric, value);
}

bool run_total(const struct run *r, enum trace_metric metric, uint64_t *value)
{
    uint64_t before;

    if (metrics_get(&r->final, metric, value))
        return true;
    if (!metrics_get(&r->sum, metric, value))
        return false;
    if (metrics_get(&r->before, metric, &before))
        *value -= before < *value ? before : *value;
    return true;
}

bool run_own(const struct run_process *p, enum trace_metric metric, uint64_t *value)
{
    uint64_t before;

    if (!metrics_has(&p->most, metrics_place(metric)) || !metrics_get(&p->now, metric, value))
        return false;
    if (p->before && metrics_get(p->before, metric, &before))
        *value -= before < *value ? before : *value;
    return true;
}

/* What was launched began before its record: at the clock origin. */
uint64_t run_duration(const struct run *r)
{
    uint64_t from = UINT64_MAX, to = 0, measured;
    bool alive = false;

    if (names_number(&r->names, TRACE_OF_RUN, "duration_ns", &measured))
        return measured;
    for (size_t i = 0; i < r->process_count; i++) {
        const struct run_process *p = r->processes[i];
        uint64_t began = p->born == TRACE_BORN_LAUNCHED ? 0 : p->from_ns;

        from = began < from ? began : from;
        to = p->ended && p->to_ns > to ? p->to_ns : to;
        alive = alive || !p->ended;
    }
    if (alive || r->process_count == 0)
        to = r->last_ns;
    return from < to ? to - from : 0;
}

/* Processes. */

/* Change what one process adds to the sums; `old` or `new` NULL: it adds nothing. */
static void contribute(struct run *r, unsigned int i, const uint64_t *old, const uint64_t *new)
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

/* exec(2) keeps the counters of a process: they move to the new incarnation, or they would count
 * twice.
 */
static void inherit(struct run *r, struct run_process *p)
{
    struct run_process *old = find(&r->state->pids, p->pid);

    if (p->born != TRACE_BORN_EXECED || !old || old->start_ticks != p->start_ticks)
        return;
    p->before = &old->now;
    for (unsigned int i = 0; i < METRICS_OF_PROCESS; i++)
        if (metrics_counter(i) && metrics_has(&old->now, i))
            metrics_set(&p->now, i, old->now.value[i]);
}

/* When it started, since the clock origin. What the recorder launched started between the origin
 * and its first record, which can be most of the time up to the first tick.
 */
static double began(const struct run *r, const struct run_process *p)
{
    uint64_t hz;

    if (p->born == TRACE_BORN_LAUNCHED)
        return 0;
    if (p->born != TRACE_BORN_FOUND ||
        !names_number(&r->names, TRACE_OF_MACHINE, "clock_ticks", &hz) || hz == 0)
        return (double)p->from_ns;
    return (double)p->start_ticks / (double)hz * 1e9 - (double)r->header->mono_ns;
}

static void link_process(struct run *r, struct run_process *p)
{
    struct run_process *parent = p->parent;
    struct run_process **last = parent ? &parent->last_child : &r->state->last_root;

    if (*last)
        (*last)->sibling = p;
    else if (parent)
        parent->first_child = p;
    else
        r->roots = p;
    *last = p;
}

/* A process that was seen only after its exec was born under the name of what it became. */
static void rename_process(struct run *r, struct run_process *p)
{
    const char *ran = find(&r->state->ran, p->number), *slash;

    if (!ran)
        return;
    slash = strrchr(ran, '/');
    p->name = slash ? slash + 1 : ran;
    p->command = ran;
}

/* Facts may come before what they tell of. */
static void on_process_fact(struct run *r, const struct trace_event *ev)
{
    const char *key = names_get(&r->names, ev->fact.key), *text;

    unrecorded_fact(&r->unrecorded, &r->names, ev);
    unrecorded_python(&r->unread, &r->names, ev);
    if (!key || strcmp(key, "ran") != 0 || find(&r->state->ran, ev->fact.id))
        return;
    text = names_keep(&r->names, ev->tail, ev->tail_bytes);
    if (text)
        file_under(&r->state->ran, ev->fact.id, (void *)text);
}

static void on_process(struct run *r, const struct trace_event *ev)
{
    struct run_state *s = r->state;
    struct run_process *p;

    if (ev->present < 3 || find(&s->processes, ev->process.process))
        return;
    if (r->process_count == PROCESSES_MOST) {
        r->left_out++;
        return;
    }
    if (r->process_count == s->process_room) {
        size_t room = s->process_room ? s->process_room * 2 : 16, each = sizeof(*r->processes);

        r->processes = arena_grow(r->names.arena, r->processes, s->process_room * each,
                                  room * each);
        s->process_room = room;
    }
    p = arena_alloc(r->names.arena, sizeof(*p));
    p->number = ev->process.process;
    p->pid = ev->process.pid;
    p->start_ticks = ev->process.start_ticks;
    p->born = ev->process.born;
    p->from_ns = ev->time_ns;
    p->name = names_get(&r->names, ev->process.name);
    p->command = names_get(&r->names, ev->process.command);
    rename_process(r, p);
    p->parent = ev->process.parent ? find(&s->processes, ev->process.parent) : NULL;
    p->depth = p->parent ? p->parent->depth + 1 : 0;
    inherit(r, p);
    p->older = p->born == TRACE_BORN_FOUND && began(r, p) < 0;
    if (r->process_count == 0 || began(r, p) < s->oldest_ns)
        s->oldest_ns = began(r, p);
    p->place = r->process_count;
    r->processes[r->process_count++] = p;
    file_under(&s->processes, ev->process.process, p);
    file_under(&s->pids, p->pid, p);
    link_process(r, p);
}

static void on_process_end(struct run *r, const struct trace_event *ev)
{
    struct run_process *p = find(&r->state->processes, ev->process_end.process);

    if (!p || p->ended)
        return;
    p->ended = true;
    p->to_ns = ev->time_ns;
    p->end = ev->process_end.end;
    p->status = ev->process_end.status;
    for (unsigned int i = 0; i < METRICS_OF_PROCESS; i++)
        if (!metrics_counter(i) && metrics_has(&p->now, i)) {
            contribute(r, i, &p->now.value[i], NULL);
            p->now.present &= ~(1ull << i);
        }
}

/* Samples. */

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
        contribute(r, i, had ? &old : NULL, &value);
        metrics_set(&p->now, i, value);
    }
    metrics_raise(&p->most, i, value);
}

/* What a process had used before it was found belongs to no stretch of time of this recording. */
static void set_aside(struct run *r, struct run_process *p, const struct metrics *m)
{
    struct metrics *before = arena_alloc(r->names.arena, sizeof(*before));
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
    struct run_process *p = find(&r->state->processes, number);

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

static void on_device_sample(struct run *r, uint64_t number, const struct metrics *m)
{
    struct run_device *d = find(&r->state->devices, number);

    for (unsigned int i = 0; d && i < METRICS_ROOM; i++)
        if (metrics_has(m, i))
            metrics_raise(&d->most, i, m->value[i]);
}

/* The values that a sample leaves out stay as they were. */
static void overlay(struct metrics *to, const struct metrics *from)
{
    for (unsigned int i = 0; i < METRICS_ROOM; i++)
        if (metrics_has(from, i))
            metrics_set(to, i, from->value[i]);
}

static void on_sample(struct run *r, struct trace_event *ev)
{
    struct metrics m = {0};
    struct trace_pair pair;

    while (trace_next_pair(ev, &pair))
        if (metrics_belong(ev->sample.subject, pair.metric))
            metrics_set(&m, metrics_place(pair.metric), pair.value);
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
        overlay(&r->machine, &m);
        break;
    case TRACE_OF_CGROUP:
        overlay(&r->cgroup, &m);
        break;
    case TRACE_OF_DEVICE:
        on_device_sample(r, ev->sample.id, &m);
        break;
    default:
        break;
    }
}

/* The first tick's CPU use is since the oldest process began, every other's since the tick
 * before.
 */
static void measure_tree(struct run *r)
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

static void measure_machine(struct run *r)
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

static void fire(struct run *r, run_tick *tick, void *context)
{
    struct run_state *s = r->state;

    measure_tree(r);
    measure_machine(r);
    s->ticking = false;
    if (tick)
        tick(r, s->tick_ns, context);
    s->before_ns = s->tick_ns;
    r->ticks++;
}

static void on_device(struct run *r, const struct trace_event *ev)
{
    struct run_device *d;

    if (r->device_count == DEVICES_MOST || find(&r->state->devices, ev->device.device))
        return;
    if (!r->devices)
        r->devices = arena_alloc(r->names.arena, DEVICES_MOST * sizeof(struct run_device *));
    d = arena_alloc(r->names.arena, sizeof(*d));
    d->number = ev->device.device;
    d->name = names_get(&r->names, ev->device.name);
    d->vendor = names_get(&r->names, ev->device.vendor);
    r->devices[r->device_count++] = d;
    file_under(&r->state->devices, d->number, d);
}

/* Of everybody or of one process: time in which any of them was paused counts once. */
static void on_mark(struct run *r, const struct trace_event *ev)
{
    struct run_state *s = r->state;

    if (ev->mark.sort == TRACE_MARK_PAUSE && s->paused++ == 0) {
        s->paused_at_ns = ev->time_ns;
        r->pauses++;
    } else if (ev->mark.sort == TRACE_MARK_RESUME && s->paused && --s->paused == 0 &&
               ev->time_ns > s->paused_at_ns) {
        r->paused_ns += ev->time_ns - s->paused_at_ns;
    }
}

static void on_event(struct run *r, struct trace_event *ev)
{
    switch (ev->kind) {
    case TRACE_STRING:
        names_string(&r->names, ev);
        break;
    case TRACE_FACT:
        if (ev->fact.subject == TRACE_OF_PROCESS)
            on_process_fact(r, ev);
        else
            names_fact(&r->names, ev);
        break;
    case TRACE_PROCESS:
        on_process(r, ev);
        break;
    case TRACE_PROCESS_END:
        on_process_end(r, ev);
        break;
    case TRACE_SAMPLE:
        on_sample(r, ev);
        break;
    case TRACE_DEVICE:
        on_device(r, ev);
        break;
    case TRACE_ALERT:
        incident_alert(r, ev, find(&r->state->processes, ev->alert.process));
        break;
    case TRACE_THREAD:
        intmap_put(&r->state->recorded, ev->thread.process, 1);
        break;
    case TRACE_BATCH:
        r->exact = true;
        break;
    case TRACE_ALLOC:
        r->sampled = true;
        break;
    case TRACE_MARK:
        on_mark(r, ev);
        break;
    case TRACE_LOSS:
        incident_loss(r, ev, find(&r->state->processes, ev->loss.process));
        break;
    default:
        break;
    }
}

void run_read(struct run *r, struct arena *arena, struct trace *t, run_tick *tick, void *context)
{
    struct trace_event ev;

    memset(r, 0, sizeof(*r));
    r->names.arena = arena;
    r->header = trace_header(t);
    r->state = arena_alloc(arena, sizeof(*r->state));
    while (trace_next(t, &ev)) {
        if (r->state->ticking && (ev.time_ns > r->state->tick_ns || ev.kind == TRACE_PROCESS_END))
            fire(r, tick, context);
        if (ev.time_ns > r->last_ns)
            r->last_ns = ev.time_ns;
        on_event(r, &ev);
    }
    if (r->state->ticking)
        fire(r, tick, context);
    if (r->state->paused && r->last_ns > r->state->paused_at_ns)
        r->paused_ns += r->last_ns - r->state->paused_at_ns;
    for (size_t i = 0; i < r->process_count; i++) {
        struct run_process *p = r->processes[i];

        p->unrecorded = unrecorded_reason(&r->unrecorded, p->number);
        p->recorded = find(&r->state->recorded, p->number) != NULL;
    }
    intmap_free(&r->state->recorded);
    intmap_free(&r->unrecorded.processes);
    intmap_free(&r->unread.processes);
    intmap_free(&r->state->processes);
    intmap_free(&r->state->pids);
    intmap_free(&r->state->devices);
    intmap_free(&r->state->ran);
    names_seal(&r->names);
    r->health = health_line(r, trace_health(t));
}
