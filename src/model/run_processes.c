/* run_processes - see run_inner.h: a process that begins, what is told of it, its end. A parent is
 * always an earlier process, so the tree has no cycle.
 */
#include "base/text.h"
#include "model/allowed.h"
#include "model/run_inner.h"

#include <string.h>

#define PROCESSES_MOST (1u << 20)
#define PYTHON_MOST 32  /* bytes of a version, */
#define PYTHONS_MOST 96 /* and of several */

/* exec(2) keeps the counters of a process: they move to the new incarnation, or they would count
 * twice.
 */
static void inherit(struct run *r, struct run_process *p)
{
    struct run_process *old = run_find(&r->state->pids, p->pid);

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
        !names_number(r->names, TRACE_OF_MACHINE, FACT_CLOCK_TICKS, &hz) || hz == 0)
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
    const char *ran = run_find(&r->state->ran, p->number);

    if (!ran)
        return;
    p->name = text_base(ran);
    p->command = ran;
}

static bool has_version(const char *list, const char *version)
{
    size_t bytes = strlen(version);

    for (const char *at = strstr(list, version); at; at = strstr(at + 1, version))
        if ((at == list || at[-1] == ' ') && (!at[bytes] || at[bytes] == ','))
            return true;
    return false;
}

/* Each version once. */
static void on_python(struct run *r, const struct trace_event *ev)
{
    char version[PYTHON_MOST + 1] = "";

    memcpy(version, ev->tail, ev->tail_bytes < PYTHON_MOST ? ev->tail_bytes : PYTHON_MOST);
    if (!*version ||
        (r->pythons && (strlen(r->pythons) > PYTHONS_MOST || has_version(r->pythons, version))))
        return;
    r->pythons = arena_printf(r->names->arena, "%s%s%s", r->pythons ? r->pythons : "",
                              r->pythons ? ", " : "", version);
}

void run_on_process_fact(struct run *r, const struct trace_event *ev)
{
    const char *key = names_get(r->names, ev->fact.key), *text;

    if (key && strcmp(key, FACT_PYTHON) == 0)
        on_python(r, ev);
    unrecorded_fact(&r->unrecorded, r->names, ev);
    unrecorded_python(&r->unread, r->names, ev);
    ranks_fact(&r->ranks, r->names, ev);
    if (!key || strcmp(key, FACT_RAN) != 0 || run_find(&r->state->ran, ev->fact.id))
        return;
    text = names_keep(r->names, ev->tail, ev->tail_bytes);
    if (text)
        run_file(&r->state->ran, ev->fact.id, (void *)text);
}

void run_on_process(struct run *r, const struct trace_event *ev)
{
    struct run_state *s = r->state;
    struct run_process *p;
    double began_ns;

    if (ev->present < 3 || run_find(&s->processes, ev->process.process))
        return;
    if (r->process_count == PROCESSES_MOST ||
        r->process_count >= ALLOWED_THINGS(r->names->file_bytes)) {
        r->left_out++;
        return;
    }
    arena_fit(r->names->arena, r->processes, s->process_room, r->process_count + 1);
    p = arena_alloc(r->names->arena, sizeof(*p));
    p->number = ev->process.process;
    p->pid = ev->process.pid;
    p->start_ticks = ev->process.start_ticks;
    p->born = ev->process.born;
    p->from_ns = ev->time_ns;
    p->name = names_get(r->names, ev->process.name);
    p->command = names_get(r->names, ev->process.command);
    rename_process(r, p);
    p->parent = ev->process.parent ? run_find(&s->processes, ev->process.parent) : NULL;
    p->depth = p->parent ? p->parent->depth + 1 : 0;
    inherit(r, p);
    began_ns = began(r, p);
    p->older = p->born == TRACE_BORN_FOUND && began_ns < 0;
    if (r->process_count == 0 || began_ns < s->oldest_ns)
        s->oldest_ns = began_ns;
    p->place = r->process_count;
    r->processes[r->process_count++] = p;
    run_file(&s->processes, ev->process.process, p);
    run_file(&s->pids, p->pid, p);
    link_process(r, p);
}

void run_on_process_end(struct run *r, const struct trace_event *ev)
{
    struct run_process *p = run_find(&r->state->processes, ev->process_end.process);

    if (!p || (p->ended && p->end != TRACE_END_UNKNOWN))
        return;
    p->end = ev->process_end.end; /* how may be told later than that */
    p->status = ev->process_end.status;
    if (p->ended)
        return;
    p->ended = true;
    p->to_ns = ev->time_ns;
    for (unsigned int i = 0; i < METRICS_OF_PROCESS; i++)
        if (!metrics_counter(i) && metrics_has(&p->now, i)) {
            run_contribute(r, i, &p->now.value[i], NULL);
            p->now.present &= ~(1ull << i);
        }
}
