/* process_lens - see process_lens.h. */
#include "model/process_lens.h"

#include "model/ranks.h"

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

static void look_at(struct process_lens *l, uint64_t process)
{
    if (l->processes.used < MOST)
        intmap_put(&l->processes, process, 1);
}

/* Who tells of processes may be later than their threads. */
static void read_threads(struct process_lens *l, struct trace *t)
{
    struct trace_event ev;

    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev))
        if (ev.kind == TRACE_THREAD)
            take_thread(l, &ev);
    trace_rewind(t, 0, UINT64_MAX);
}

void process_lens_read(struct process_lens *l, struct trace *t, uint64_t pid)
{
    struct trace_event ev;

    *l = (struct process_lens){0};
    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev))
        if (ev.kind == TRACE_PROCESS && ev.process.pid == pid)
            look_at(l, ev.process.process);
    read_threads(l, t);
}

static void read_ranks(struct ranks *r, struct trace *t, struct arena *a)
{
    struct names names = {.arena = a, .file_bytes = trace_size(t)};
    struct trace_event ev;

    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev))
        if (ev.kind == TRACE_STRING)
            names_string(&names, &ev);
        else if (ev.kind == TRACE_FACT && ev.fact.subject == TRACE_OF_PROCESS)
            ranks_fact(r, &names, &ev);
    names_free(&names);
}

/* Only who is recorded from inside has a rank, and threads. */
bool process_lens_read_rank(struct process_lens *l, struct trace *t, struct arena *a, uint64_t rank)
{
    struct ranks ranks = {0};
    struct trace_event ev;
    bool any = false;

    *l = (struct process_lens){0};
    read_ranks(&ranks, t, a);
    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev)) {
        struct rank_known of[RANK_NUMBERS];

        if (ev.kind != TRACE_THREAD || !ranks_of(&ranks, ev.thread.process, of))
            continue;
        any |= of[RANK_RANK].known;
        if (of[RANK_RANK].known && of[RANK_RANK].number == rank)
            look_at(l, ev.thread.process);
    }
    ranks_free(&ranks);
    read_threads(l, t);
    return any;
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
