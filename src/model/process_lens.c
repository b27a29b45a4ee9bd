/* process_lens - see process_lens.h. */
#include "model/process_lens.h"

#include "base/memory.h"
#include "model/ranks.h"

#include <stdlib.h>

#define MOST ((size_t)1 << 22) /* processes and threads: what is beyond is not seen */

static bool has(const struct intmap *map, uint64_t number)
{
    uint64_t value;

    return intmap_get(map, number, &value);
}

/* ---- who is looked at ---- */

struct reading { /* in one pass: who tells of a process may be later than its threads */
    struct process_lens *lens;
    struct lens_thread {
        uint64_t number, process;
    } * threads;
    size_t count, room;
};

static void look_at(struct process_lens *l, uint64_t process)
{
    if (l->processes.used < MOST)
        intmap_put(&l->processes, process, 1);
}

static void take_thread(struct reading *r, const struct trace_event *ev)
{
    if (r->count == MOST)
        return;
    memory_fit(r->threads, r->room, r->count + 1);
    r->threads[r->count++] = (struct lens_thread){ev->thread.thread, ev->thread.process};
}

/* It is known which processes are looked at. */
static void end_reading(struct reading *r)
{
    for (const struct lens_thread *t = r->threads; t < r->threads + r->count; t++)
        if (has(&r->lens->processes, t->process)) {
            r->lens->recorded++;
            intmap_put(&r->lens->threads, t->number, 1);
        }
    free(r->threads);
}

void process_lens_read(struct process_lens *l, struct trace *t, uint64_t pid)
{
    struct reading r = {.lens = l};
    struct trace_event ev;

    *l = (struct process_lens){0};
    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev))
        if (ev.kind == TRACE_THREAD)
            take_thread(&r, &ev);
        else if (ev.kind == TRACE_PROCESS && ev.process.pid == pid)
            look_at(l, ev.process.process);
    trace_rewind(t, 0, UINT64_MAX);
    end_reading(&r);
}

/* Only who is recorded from inside has a rank, and threads. True: any of them has one. */
static bool look_at_rank(struct reading *r, const struct ranks *ranks, uint64_t rank)
{
    bool any = false;

    for (size_t i = 0; i < r->count; i++) {
        struct rank_known of[RANK_NUMBERS];

        if (!ranks_of(ranks, r->threads[i].process, of) || !of[RANK_RANK].known)
            continue;
        any = true;
        if (of[RANK_RANK].number == rank)
            look_at(r->lens, r->threads[i].process);
    }
    return any;
}

bool process_lens_read_rank(struct process_lens *l, struct trace *t, struct arena *a, uint64_t rank)
{
    struct names names = {.arena = a, .file_bytes = trace_size(t)};
    struct reading r = {.lens = l};
    struct ranks ranks = {0};
    struct trace_event ev;
    bool any;

    *l = (struct process_lens){0};
    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev))
        if (ev.kind == TRACE_STRING)
            names_string(&names, &ev);
        else if (ev.kind == TRACE_THREAD)
            take_thread(&r, &ev);
        else if (ev.kind == TRACE_FACT && ev.fact.subject == TRACE_OF_PROCESS)
            ranks_fact(&ranks, &names, &ev);
    trace_rewind(t, 0, UINT64_MAX);
    any = look_at_rank(&r, &ranks, rank);
    end_reading(&r);
    names_free(&names);
    ranks_free(&ranks);
    return any;
}

/* ---- what is seen of them ---- */

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
