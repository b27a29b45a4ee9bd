/* moments - see moments.h. */
#include "model/moments.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define OURS "tidemark: --" /* how such a mark begins (inject/torch_start.py) */
#define MOMENTS_MOST ((size_t)1 << 20)
#define PROCESSES_MOST ((size_t)1 << 20)

void moments_start(struct moments *m, const struct names *names, struct threads *threads,
                   const struct frames *frames)
{
    *m = (struct moments){.names = names, .threads = threads, .frames = frames};
}

static bool is_kept(uint64_t kind)
{
    return kind == TRACE_MARK_MOMENT || kind == TRACE_MARK_STEP || kind == TRACE_MARK_SNAPSHOT;
}

bool moments_is_ours(uint64_t kind, const char *name)
{
    return kind == TRACE_MARK_MOMENT && name && !strncmp(name, OURS, strlen(OURS));
}

/* A process goes by its own word, and else by the last that was said. */
static void take_window(struct moments *m, uint64_t process, bool inside)
{
    m->outside = !inside;
    if (process && (m->windowed.used < PROCESSES_MOST))
        intmap_put(&m->windowed, process, inside);
}

static bool is_outside(const struct moments *m, uint64_t process)
{
    uint64_t inside;

    return intmap_get(&m->windowed, process, &inside) ? !inside : m->outside;
}

static void take_mark(struct moments *m, const struct trace_event *ev)
{
    const struct threads_thread *t = threads_find(m->threads, ev->mark.thread);
    const char *name = names_get(m->names, ev->mark.name);

    if (ev->mark.mark_kind == TRACE_MARK_WINDOW || ev->mark.mark_kind == TRACE_MARK_WINDOW_END)
        take_window(m, t ? t->process : 0, ev->mark.mark_kind == TRACE_MARK_WINDOW);
    if (!is_kept(ev->mark.mark_kind) || moments_is_ours(ev->mark.mark_kind, name))
        return;
    if (m->count == MOMENTS_MOST) {
        m->left_out++;
        return;
    }
    memory_fit(m->list, m->room, m->count + 1);
    m->list[m->count++] = (struct named_moment){
        .time_ns = ev->time_ns,
        .process = t ? t->process : 0,
        .thread = ev->mark.thread,
        .kind = ev->mark.mark_kind,
        .name = name ? name : "",
        .value = ev->mark.value,
        .step = ev->mark.step,
        .outside = is_outside(m, t ? t->process : 0),
    };
}

/* Who tells of processes may see one later than its own threads show themselves. */
static void note_began(struct moments *m, uint64_t process, uint64_t time_ns)
{
    uint64_t known;

    if (m->began.used < PROCESSES_MOST &&
        (!intmap_get(&m->began, process, &known) || time_ns < known))
        intmap_put(&m->began, process, time_ns);
}

/* That windows were asked for stands before all events, as does that a file of another tool was
 * imported, which has no modules.
 */
static void take_fact(struct moments *m, const struct trace_event *ev)
{
    const char *key = names_get(m->names, ev->fact.key);

    if (ev->fact.subject == TRACE_OF_RUN && key && strcmp(key, FACT_WINDOWS) == 0)
        m->outside = true;
    m->find.active |= ev->fact.subject == TRACE_OF_RUN && key && !strcmp(key, FACT_IMPORTED);
}

void moments_take(struct moments *m, const struct trace_event *ev)
{
    if (ev->kind == TRACE_FACT)
        take_fact(m, ev);
    else if (ev->kind == TRACE_MARK)
        take_mark(m, ev);
    else if (ev->kind == TRACE_PROCESS)
        note_began(m, ev->process.process, ev->time_ns);
    else if (ev->kind == TRACE_THREAD)
        note_began(m, ev->thread.process, ev->time_ns);
    else
        step_find_take(&m->find, m->names, m->threads, ev);
}

static int by_loop_and_time(const void *a, const void *b)
{
    const struct named_moment *x = *(struct named_moment *const *)a,
                              *y = *(struct named_moment *const *)b;
    int order = strcmp(x->name, y->name);

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (order)
        return order;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool goes_on(const struct moments_loop *l, const struct named_moment *step)
{
    return l->process == step->process && !strcmp(l->name, step->name);
}

static void add_step(struct moments *m, struct named_moment **at)
{
    size_t n = m->loop_count;
    uint64_t began = 0;

    if (n && goes_on(&m->loops[n - 1], *at)) {
        m->loops[n - 1].count++;
        return;
    }
    intmap_get(&m->began, (*at)->process, &began);
    m->loops[m->loop_count++] = (struct moments_loop){
        (*at)->name, (*at)->process, began < (*at)->time_ns ? began : (*at)->time_ns, at,
        1,           (*at)->how};
}

static void add_found(void *context, uint64_t process, uint64_t number, uint64_t end_ns,
                      enum step_how how)
{
    struct moments *m = context;

    if (m->count == MOMENTS_MOST)
        return;
    memory_fit(m->list, m->room, m->count + 1);
    m->list[m->count++] = (struct named_moment){.time_ns = end_ns,
                                                .process = process,
                                                .kind = TRACE_MARK_STEP,
                                                .name = "step",
                                                .value = number,
                                                .how = how};
}

static void find_steps(struct moments *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->list[i].kind == TRACE_MARK_STEP)
            return;
    step_find_end(&m->find, m->frames, m->names->arena, add_found, m);
}

static void find_stacked(struct moments_loop *l)
{
    size_t run = 0;

    for (size_t i = 0; i < l->count; i++) {
        run = l->steps[i]->outside ? 0 : run + 1;
        if (run <= l->stacked_count)
            continue;
        l->stacked_count = run;
        l->stacked_first = i + 1 - run;
    }
}

void moments_end(struct moments *m)
{
    size_t count = 0;

    if (m->find.count)
        find_steps(m);
    step_find_free(&m->find);
    m->steps = memory_zeroed((m->count + 1) * sizeof(*m->steps));
    for (size_t i = 0; i < m->count; i++)
        if (m->list[i].kind == TRACE_MARK_STEP)
            m->steps[count++] = &m->list[i];
    memory_sort(m->steps, count, sizeof(*m->steps), by_loop_and_time);
    m->loops = memory_zeroed((count + 1) * sizeof(*m->loops));
    for (size_t i = 0; i < count; i++)
        add_step(m, &m->steps[i]);
    for (size_t i = 0; i < m->loop_count; i++)
        find_stacked(&m->loops[i]);
}

uint64_t moments_from(const struct moments_loop *l, size_t i)
{
    return i ? l->steps[i - 1]->time_ns : l->began_ns;
}

void moments_read(struct moments *m, struct trace *t, struct arena *a,
                  const struct process_lens *only)
{
    struct trace_event ev;

    moments_start(m, &m->own_names, &m->own_threads, &m->own_frames);
    m->own_names.arena = a;
    m->own_names.file_bytes = trace_size(t);
    m->own_threads.names = m->own_frames.names = &m->own_names;
    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev)) {
        if (ev.kind == TRACE_STRING)
            names_string(&m->own_names, &ev);
        threads_take(&m->own_threads, &ev);
        frames_take(&m->own_frames, &ev);
        if (process_show(only, &ev))
            moments_take(m, &ev);
    }
    trace_rewind(t, 0, UINT64_MAX);
    moments_end(m);
}

void moments_free(struct moments *m)
{
    free(m->list);
    free(m->steps);
    free(m->loops);
    intmap_free(&m->began);
    intmap_free(&m->windowed);
    step_find_free(&m->find);
    threads_free(&m->own_threads);
    frames_free(&m->own_frames);
    names_free(&m->own_names);
    *m = (struct moments){0};
}
