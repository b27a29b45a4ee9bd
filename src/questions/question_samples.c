/* question_samples - every sample of CPU time: when, which thread, where, and for how much time it
 * stands. What `cpu` adds up, for tools that draw it over time.
 */
#include "base/count.h"
#include "base/memory.h"
#include "questions/cells.h"
#include "questions/covered_answer.h"
#include "questions/question.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROWS 1000 /* unless more are asked for, as formats do */

enum { TIME, CPU, KIND, PID, TID, STACK };

static const struct table_column columns[] = {
    [TIME] = {"time", UNIT_NS}, [CPU] = {"cpu", UNIT_NS}, [KIND] = {"kind", UNIT_TEXT},
    [PID] = {"pid", UNIT_ID},   [TID] = {"tid", UNIT_ID}, [STACK] = {"stack", UNIT_STACK},
};

struct sample {
    uint64_t time_ns, ns, thread, stack;
    unsigned int kind;
};

struct samples {
    struct recorded *recorded;
    struct sample *list;
    size_t count, room;
};

static void take(void *context, const struct trace_event *ev)
{
    struct samples *s = context;
    struct cpu_sums one;

    if (ev->kind != TRACE_CPU || !cpu_time_of(&s->recorded->cpu, ev, &one))
        return;
    memory_fit(s->list, s->room, s->count + 1);
    s->list[s->count++] = (struct sample){ev->time_ns, one.ns, ev->cpu.thread, ev->cpu.stack,
                                          (unsigned int)(ev->cpu.cpu_kind & 7)};
}

static void begin(struct asked *q)
{
    struct samples *s = q->state;

    s->recorded = q->recorded;
    recorded_take_first(q->recorded, take, s);
}

static void put_row(struct table_cell *c, struct recorded *r, const struct intmap *processes,
                    const struct sample *s)
{
    static const char *const kinds[] = {[TRACE_CPU_PYTHON] = "python",
                                        [TRACE_CPU_NATIVE] = "native",
                                        [TRACE_CPU_SYSTEM] = "kernel"};
    const struct threads_thread *thread = threads_find(&r->threads, s->thread);
    uint64_t place;

    cell_number(&c[TIME], s->time_ns);
    cell_number(&c[CPU], s->ns);
    cell_text(&c[KIND], s->kind < COUNT(kinds) ? kinds[s->kind] : NULL);
    if (thread && thread->tid)
        cell_number(&c[TID], thread->tid);
    if (thread && intmap_get(processes, thread->process, &place))
        cells_pid(&c[PID], r->run.processes[place]);
    cell_stack(&c[STACK], frames_shared(&r->frames, s->stack));
}

static int run(struct asked *q, struct err *err)
{
    struct samples *s = q->state;
    struct table *t = answer_add(q->answer, "samples", TABLE_ROWS, columns, COUNT(columns));
    uint64_t most = q->options->rows ? q->options->rows : ROWS;
    const struct run *r = &q->recorded->run;
    struct intmap processes = {0};

    (void)err;
    covered_answer(q->answer, r);
    for (size_t i = 0; i < r->process_count; i++)
        intmap_put(&processes, r->processes[i]->number, i);
    for (size_t i = 0; i < s->count && i < most; i++)
        put_row(table_add(q->answer, t), q->recorded, &processes, &s->list[i]);
    if (s->count > most)
        t->note = arena_printf(q->answer->arena,
                               "The first %" PRIu64 " of %zu; --limit %zu shows all.", most,
                               s->count, s->count);
    if (!s->count)
        t->note = "The trace holds no sample of CPU time.";
    intmap_free(&processes);
    free(s->list);
    return 0;
}

const struct question question_samples = {
    .name = "samples",
    .summary = "every sample of CPU time: when, where and how much",
    .group = QUESTION_OF_CPU,
    .reads = RECORDED_CPU | RECORDED_FRAMES | RECORDED_RUN,
    .state = sizeof(struct samples),
    .begin = begin,
    .run = run,
};
