/* run - the one pass over a recording. Every number in it came from a file and may be nonsense:
 * processes have a limit.
 */
#include "model/run.h"

#include "model/health.h"
#include "model/incident.h"
#include "model/run_inner.h"
#include "model/space_lens.h"

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

static bool own(const struct run_process *p, enum trace_metric metric, uint64_t *value)
{
    uint64_t before;

    if (!metrics_has(&p->most, metrics_place(metric)) || !metrics_get(&p->now, metric, value))
        return false;
    if (p->before && metrics_get(p->before, metric, &before))
        *value -= before < *value ? before : *value;
    return true;
}

/* What ran has used some CPU time and met pages: a 0 was read before the first of it. Of the parts
 * of that time one may be 0, not both.
 */
bool run_own(const struct run_process *p, enum trace_metric metric, uint64_t *value)
{
    uint64_t user = 0, system = 0;

    if (!own(p, metric, value))
        return false;
    if (metric == METRIC_USER_NS || metric == METRIC_SYSTEM_NS)
        return (own(p, METRIC_USER_NS, &user) && user) ||
               (own(p, METRIC_SYSTEM_NS, &system) && system);
    return *value || (metric != METRIC_CPU_NS && metric != METRIC_MINOR_FAULTS);
}

/* What was launched began before its record: at the clock origin. */
uint64_t run_duration(const struct run *r)
{
    uint64_t from = UINT64_MAX, to = 0, measured;
    bool alive = false;

    if (names_number(r->names, TRACE_OF_RUN, FACT_DURATION, &measured))
        return measured;
    for (size_t i = 0; i < r->process_count; i++) {
        const struct run_process *p = r->processes[i];
        uint64_t began = p->born == TRACE_BORN_LAUNCHED ? 0 : p->from_ns;

        from = began < from ? began : from;
        to = p->ended && p->to_ns > to ? p->to_ns : to;
        alive = alive || !p->ended;
    }
    if (alive || r->process_count == 0 || r->lacking.more) /* when it ended is not known */
        to = r->last_ns;
    return from < to ? to - from : 0;
}

static void fire(struct run *r)
{
    struct run_state *s = r->state;

    run_measure_tree(r);
    run_measure_machine(r);
    s->ticking = false;
    for (int i = 0; i < s->listener_count; i++)
        s->listeners[i].tick(r, s->tick_ns, s->listeners[i].context);
    s->before_ns = s->tick_ns;
    r->ticks++;
}

/* The limit that was asked for stands in the facts; a process with too many such blocks raises its
 * own.
 */
static void on_whole(struct run *r, uint64_t bytes)
{
    if (bytes > r->whole_most)
        r->whole_most = bytes;
}

/* Of everybody or of one process: time in which any of them was paused counts once. */
static void on_mark(struct run *r, const struct trace_event *ev)
{
    struct run_state *s = r->state;

    if (ev->mark.mark_kind == TRACE_MARK_PAUSE && s->paused++ == 0) {
        s->paused_at_ns = ev->time_ns;
        r->pauses++;
    } else if (ev->mark.mark_kind == TRACE_MARK_RESUME && s->paused && --s->paused == 0 &&
               ev->time_ns > s->paused_at_ns) {
        r->paused_ns += ev->time_ns - s->paused_at_ns;
    } else if (ev->mark.mark_kind == TRACE_MARK_WINDOW) {
        r->windows++;
    } else if (ev->mark.mark_kind == TRACE_MARK_WHOLE) {
        on_whole(r, ev->mark.value);
    }
}

static void on_loss(struct run *r, const struct trace_event *ev)
{
    struct run_process *p = run_find(&r->state->processes, ev->loss.process);

    lacking_loss(&r->lacking, ev);
    if (p)
        lacking_loss(&p->lacking, ev);
    if (ev->loss.what == TRACE_LOST_PROGRAMS)
        unrecorded_unseen(&r->unrecorded, r->names, ev);
    else if (ev->loss.what == TRACE_LOST_TICKS)
        r->late += ev->loss.count;
    else if (ev->loss.what == TRACE_LOST_TORN)
        r->torn += ev->loss.count;
    else
        incident_loss(r, ev, p);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A process is seen from outside later than its first events were recorded inside. */
static void note_event(struct run *r, uint64_t process, uint64_t time_ns)
{
    uint64_t first;

    if (!intmap_get(&r->state->recorded, process, &first) || time_ns < first)
        intmap_put(&r->state->recorded, process, time_ns);
}

static void on_event(struct run *r, const struct trace_event *ev)
{
    switch (ev->kind) {
    case TRACE_FACT:
        if (ev->fact.subject == TRACE_OF_PROCESS)
            run_on_process_fact(r, ev);
        else if (ev->fact.subject == TRACE_OF_DEVICE)
            run_on_device_fact(r, ev);
        else
            names_fact(r->names, ev);
        break;
    case TRACE_PROCESS:
        run_on_process(r, ev);
        break;
    case TRACE_PROCESS_END:
        run_on_process_end(r, ev);
        break;
    case TRACE_SAMPLE:
        run_on_sample(r, ev);
        break;
    case TRACE_DEVICE:
        run_on_device(r, ev);
        break;
    case TRACE_ALERT:
        incident_alert(r, ev, run_find(&r->state->processes, ev->alert.process));
        break;
    case TRACE_THREAD:
        note_event(r, ev->thread.process, ev->time_ns);
        break;
    case TRACE_BATCH:
        note_event(r, ev->batch.process, ev->time_ns - least(ev->batch.span_ns, ev->time_ns));
        break;
    case TRACE_INFOS: /* a batch may have but frees of blocks that nobody saw, in any mode */
        r->exact = true;
        break;
    case TRACE_ALLOC:
        r->exact |= ev->alloc.origin == SPACE_ORIGIN;
        r->sampled |= ev->alloc.origin != SPACE_ORIGIN;
        break;
    case TRACE_MARK:
        on_mark(r, ev);
        break;
    case TRACE_LOSS:
        on_loss(r, ev);
        break;
    default:
        break;
    }
}

void run_start(struct run *r, const struct names *texts, const struct trace_header *header)
{
    *r = (struct run){
        .header = header,
        .own = {.arena = texts->arena, .texts = texts, .file_bytes = texts->file_bytes}};
    r->names = &r->own;
    r->state = arena_alloc(texts->arena, sizeof(*r->state));
}

void run_listen(struct run *r, run_tick *tick, void *context)
{
    struct run_state *s = r->state;

    if (s->listener_count == LISTENERS_MOST)
        return;
    s->listeners[s->listener_count].tick = tick;
    s->listeners[s->listener_count++].context = context;
}

void run_take(struct run *r, const struct trace_event *ev)
{
    if (r->state->ticking && (ev->time_ns > r->state->tick_ns || ev->kind == TRACE_PROCESS_END))
        fire(r);
    if (ev->time_ns > r->last_ns)
        r->last_ns = ev->time_ns;
    exact_since_take(&r->state->since, r->names, ev);
    on_event(r, ev);
}

static void forget(struct run *r)
{
    intmap_free(&r->state->recorded);
    intmap_free(&r->unrecorded.processes);
    intmap_free(&r->unread.processes);
    ranks_free(&r->ranks);
    intmap_free(&r->state->processes);
    intmap_free(&r->state->pids);
    intmap_free(&r->state->devices);
    intmap_free(&r->state->uses);
    intmap_free(&r->state->ran);
    exact_since_free(&r->state->since);
}

/* The end of a trace that has none is missing for all that still ran. */
static void find_lacking(struct run *r, struct trace_health health)
{
    bool ended = health.complete && !health.cut;

    r->lacking.parts |= health.damaged > 0;
    r->lacking.more |= !ended || r->left_out || r->pauses || r->unrecorded.count;
    for (size_t i = 0; i < r->process_count; i++) {
        struct run_process *p = r->processes[i];

        p->lacking.parts |= health.damaged > 0;
        p->lacking.more |= (!ended && !p->ended) || r->pauses;
    }
}

/* What a process became by exec(2) began when that ended, however late it was noticed. */
static void end_former(const struct run_process *p)
{
    struct run_process *was = p->born == TRACE_BORN_EXECED ? p->parent : NULL;

    if (was && was->ended && was->to_ns > p->from_ns && was->from_ns <= p->from_ns)
        was->to_ns = p->from_ns;
}

/* What was launched may have gone on or ended before anybody read its command line. */
static void learn_command(const struct run *r, struct run_process *p)
{
    if (!p->command && p->born == TRACE_BORN_LAUNCHED)
        p->command = names_find(r->names, TRACE_OF_RUN, FACT_COMMAND);
}

void run_end(struct run *r, struct trace_health health)
{
    uint64_t first_ns;

    if (r->state->ticking)
        fire(r);
    if (r->state->paused && r->last_ns > r->state->paused_at_ns)
        r->paused_ns += r->last_ns - r->state->paused_at_ns;
    for (size_t i = 0; i < r->process_count; i++) {
        struct run_process *p = r->processes[i];

        p->since = exact_since_of(&r->state->since, p->number, &r->since);
        p->unrecorded = unrecorded_reason(&r->unrecorded, p->number);
        ranks_of(&r->ranks, p->number, p->ranks);
        r->ranked |= p->ranks[RANK_RANK].known;
        p->recorded = intmap_get(&r->state->recorded, p->number, &first_ns);
        if (p->recorded)
            p->from_ns = least(p->from_ns, first_ns);
        end_former(p);
        learn_command(r, p);
    }
    forget(r);
    find_lacking(r, health);
    if (!names_number(r->names, TRACE_OF_RUN, FACT_WHOLE, &r->whole_from))
        r->whole_most = 0;
    r->health = health_line(r, health);
}
