/* oom - see oom.h. Of several failures the one counts at which most was live: a program that is
 * refused memory frees on its way out, and what it then asks for in vain tells little.
 */
#include "model/oom.h"

#include <signal.h>

/* ---- while the trace is read ---- */

static bool is_asked(const struct selection *o, uint64_t time_ns)
{
    return time_ns >= o->from_ns && (!o->to_ns || time_ns <= o->to_ns);
}

static struct oom_failure *row_of(struct oom *o, const struct trace_space_failed *f)
{
    size_t i = 0;

    while (i < o->count && (o->list[i].space != f->space || o->list[i].stack != f->stack ||
                            o->list[i].call != f->call || o->list[i].status != f->status))
        i++;
    if (i == OOM_FAILURES_MOST)
        return NULL;
    if (i == o->count) {
        arena_fit(&o->recorded->arena, o->list, o->room, o->count + 1);
        o->list[o->count++] = (struct oom_failure){
            .space = f->space, .stack = f->stack, .call = f->call, .status = f->status};
    }
    return &o->list[i];
}

static void take(void *context, const struct trace_event *ev)
{
    struct oom *o = context;
    const struct trace_space_failed *f = &ev->space_failed;
    struct oom_failure *row;

    if (ev->kind != TRACE_SPACE_FAILED || !is_asked(&o->recorded->selection, ev->time_ns))
        return;
    row = row_of(o, f);
    if (!row || o->event_count == OOM_FAILURES_MOST) {
        o->left_out++;
        return;
    }
    row->times += ev->present >= 7 ? f->times : 1;
    row->most = f->bytes > row->most ? f->bytes : row->most;
    row->last_ns = ev->time_ns;
    arena_fit(&o->recorded->arena, o->events, o->event_room, o->event_count + 1);
    o->events[o->event_count++] = (struct oom_event){ev->time_ns, f->bytes, f->thread,
                                                     (uint32_t)(row - o->list)};
}

void oom_begin(struct oom *o, struct recorded *r)
{
    *o = (struct oom){.recorded = r};
    recorded_take_first(r, take, o);
}

/* ---- which moment ---- */

static enum trace_space_kind kind_of(const struct space_list *l, uint64_t space)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].number == space)
            return l->list[i].kind;
    return TRACE_SPACE_DEVICE;
}

/* A pool is refused nothing itself: it is its device that has no more for it. */
static bool is_about(const struct space_list *l, uint64_t space, uint64_t failed)
{
    return failed == space ||
           (space != SPACE_HOST && failed != SPACE_HOST && kind_of(l, space) == TRACE_SPACE_POOL);
}

static void judge_failures(struct oom *o, const struct space_list *spaces, uint64_t space,
                           uint64_t until_ns)
{
    const struct heap *h = &o->recorded->heap;
    uint64_t live;

    for (size_t i = 0; i < o->event_count; i++) {
        const struct oom_event *e = &o->events[i];
        struct oom_failure *f = &o->list[e->of];

        if (!is_about(spaces, space, f->space)) {
            o->elsewhere++;
            continue;
        }
        live = 0;
        if (e->time_ns > until_ns)
            continue;
        if (h->any)
            heap_live_between(h, e->time_ns ? e->time_ns - 1 : 0, e->time_ns, &live);
        if (!f->live_ns || live >= f->live) {
            f->live = live;
            f->live_ns = e->time_ns;
            f->live_bytes = e->bytes;
            f->live_thread = e->thread;
        }
        if (!o->failure || f->live > o->failure->live ||
            (f->live == o->failure->live && f->live_ns >= o->failure->live_ns))
            o->failure = f;
    }
}

static const struct run_process *process_of(const struct oom *o, uint64_t number)
{
    const struct run *r = &o->recorded->run;

    for (size_t i = 0; i < r->process_count; i++)
        if (r->processes[i]->number == number)
            return r->processes[i];
    return NULL;
}

static bool is_signal(const struct run_process *p)
{
    return p->end == TRACE_END_SIGNALED &&
           (p->status == SIGKILL || p->status == SIGBUS || p->status == SIGABRT);
}

/* The last that has ended so. */
static const struct run_process *ended_by(const struct oom *o, bool killed)
{
    const struct run *r = &o->recorded->run;
    const struct run_process *found = NULL;

    for (size_t i = 0; i < r->process_count; i++) {
        const struct run_process *p = r->processes[i];

        if (p->ended && (killed ? p->end == TRACE_END_OOM : is_signal(p)) &&
            (!found || p->to_ns >= found->to_ns))
            found = p;
    }
    return found;
}

static void at_end_of(struct oom *o, enum oom_how how, const struct run_process *p)
{
    o->how = how;
    o->process = p;
    o->time_ns = p->to_ns;
    o->failure = NULL;
}

static void at_failure(struct oom *o)
{
    const struct threads_thread *t = threads_find(&o->recorded->threads, o->failure->live_thread);

    o->how = OOM_REFUSED;
    o->time_ns = o->failure->live_ns;
    o->process = t ? process_of(o, t->process) : NULL;
}

static void at_moment(struct oom *o, const struct selection *options)
{
    const struct heap *h = &o->recorded->heap;

    o->how = OOM_ASKED;
    o->time_ns = options->at == SELECTION_AT_TIME ? options->at_ns
               : options->at == SELECTION_AT_PEAK ? h->peak_ns
                                                  : h->to_ns;
}

static void choose(struct oom *o, const struct selection *options, const struct space_list *spaces)
{
    const struct run_process *killed = ended_by(o, true), *signaled = ended_by(o, false);
    struct trace_health health = trace_health(o->recorded->trace);

    if (options->at != SELECTION_AT_DEFAULT)
        at_moment(o, options);
    judge_failures(o, spaces, options->space, o->how == OOM_ASKED ? o->time_ns : UINT64_MAX);
    if (o->how == OOM_ASKED)
        return;
    if (killed) {
        at_end_of(o, OOM_KILLED, killed);
    } else if (o->failure) {
        at_failure(o);
    } else if (signaled) {
        at_end_of(o, OOM_SIGNAL, signaled);
    } else if (!health.complete || health.cut) {
        o->how = OOM_CUT;
        o->time_ns = o->recorded->heap.to_ns;
    }
}

/* ---- what the machine had ---- */

static void take_sample(void *context, const struct trace_event *ev)
{
    struct oom *o = context;
    struct trace_event rest = *ev;
    struct metrics *to;
    struct trace_pair pair;

    if (ev->kind != TRACE_SAMPLE || ev->time_ns > o->time_ns)
        return;
    to = ev->sample.subject == TRACE_OF_MACHINE ? &o->machine
       : ev->sample.subject == TRACE_OF_CGROUP  ? &o->cgroup
       : ev->sample.subject == TRACE_OF_RUN     ? &o->tree
                                                : NULL;
    while (to && trace_next_pair(&rest, &pair))
        if (metrics_belong(ev->sample.subject, pair.metric))
            metrics_set(to, metrics_place(pair.metric), pair.value);
    if (to)
        o->sampled_ns = ev->time_ns;
}

void oom_find(struct oom *o, const struct selection *options, const struct space_list *spaces)
{
    choose(o, options, spaces);
    if (o->how != OOM_NONE)
        recorded_take_again(o->recorded, take_sample, o, o->time_ns);
}

static const char *signal_name(uint64_t number)
{
    return number == SIGKILL ? "SIGKILL" : number == SIGBUS ? "SIGBUS" : "SIGABRT";
}

const char *oom_text(const struct oom *o, struct arena *a)
{
    switch (o->how) {
    case OOM_KILLED:
        return "the kernel killed a process for lack of memory";
    case OOM_REFUSED:
        return "an allocation was refused";
    case OOM_SIGNAL:
        return arena_printf(a, "a process ended by %s", signal_name(o->process->status));
    case OOM_CUT:
        return "the recording has no end: the recorder or the machine was stopped";
    case OOM_ASKED:
        return o->failure ? "the moment that was asked for, after an allocation was refused"
                          : "the moment that was asked for";
    default:
        return NULL;
    }
}
