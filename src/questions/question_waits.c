/* question_waits - where the threads waited, and for what: by line of the program, by stack, and by
 * thread.
 */
#include "base/count.h"
#include "base/memory.h"
#include "model/heap_rows.h"
#include "model/line_sums.h"
#include "questions/cells.h"
#include "questions/heap_cells.h"
#include "questions/line_cells.h"
#include "questions/question.h"
#include "questions/wait_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 50
#define STACKS 20

/* One column for each cause, from `at` on. */
#define CAUSE_AT(at, cause) ((at) + (cause)-TRACE_WAIT_SLEEP)
#define CAUSE_COUNT CAUSE_AT(1, TRACE_WAIT_OTHER)
_Static_assert(CAUSE_COUNT == CPU_TIME_CAUSES - 1, "a cause lacks its column");

// clang-format off
#define CAUSES(at)                                                                                 \
    [CAUSE_AT(at, TRACE_WAIT_SLEEP)] = {"sleep", UNIT_NS},                                         \
    [CAUSE_AT(at, TRACE_WAIT_POLL)] = {"poll", UNIT_NS},                                           \
    [CAUSE_AT(at, TRACE_WAIT_IO)] = {"io", UNIT_NS},                                               \
    [CAUSE_AT(at, TRACE_WAIT_LOCK)] = {"lock", UNIT_NS},                                           \
    [CAUSE_AT(at, TRACE_WAIT_GIL)] = {"gil", UNIT_NS},                                             \
    [CAUSE_AT(at, TRACE_WAIT_QUEUE)] = {"queue", UNIT_NS},                                         \
    [CAUSE_AT(at, TRACE_WAIT_CHILD)] = {"child", UNIT_NS},                                         \
    [CAUSE_AT(at, TRACE_WAIT_OTHER)] = {"other", UNIT_NS}
// clang-format on

enum {
    LINE_WAITING,
    LINE_PERCENT,
    LINE_CAUSES,
    LINE_FUNCTION = LINE_CAUSES + CAUSE_COUNT,
    LINE_FILE,
    LINE_LINE,
    LINE_TEXT,
};

static const struct table_column line_columns[] = {
    [LINE_WAITING] = {"waiting", UNIT_NS},
    [LINE_PERCENT] = {"percent", UNIT_PERCENT},
    CAUSES(LINE_CAUSES),
    [LINE_FUNCTION] = {"function", UNIT_TEXT},
    [LINE_FILE] = {"file", UNIT_TEXT},
    [LINE_LINE] = {"line", UNIT_ID},
    [LINE_TEXT] = {"text", UNIT_TEXT},
};

enum { STACK_WAITING, STACK_PERCENT, STACK_CAUSES, STACK_SITE = STACK_CAUSES + CAUSE_COUNT, STACK };

static const struct table_column stack_columns[] = {
    [STACK_WAITING] = {"waiting", UNIT_NS},
    [STACK_PERCENT] = {"percent", UNIT_PERCENT},
    CAUSES(STACK_CAUSES),
    [STACK_SITE] = {"site", UNIT_TEXT},
    [STACK] = {"stack", UNIT_STACK},
};

enum {
    THREAD_WAITING,
    THREAD_CAUSES,
    THREAD_CPU = THREAD_CAUSES + CAUSE_COUNT,
    THREAD_TID,
    THREAD_THREAD,
    THREAD_PID,
    THREAD_PROCESS,
};

static const struct table_column thread_columns[] = {
    [THREAD_WAITING] = {"waiting", UNIT_NS},   CAUSES(THREAD_CAUSES),
    [THREAD_CPU] = {"cpu", UNIT_NS},           [THREAD_TID] = {"tid", UNIT_ID},
    [THREAD_THREAD] = {"thread", UNIT_TEXT},   [THREAD_PID] = {"pid", UNIT_ID},
    [THREAD_PROCESS] = {"process", UNIT_TEXT},
};

/* A cause that was not known is among the others. */
static void fill_causes(struct table_cell *c, int at, const struct cpu_sums *s)
{
    for (int i = TRACE_WAIT_SLEEP; i <= TRACE_WAIT_OTHER; i++)
        cell_number(&c[CAUSE_AT(at, i)],
                    s->cause_ns[i] + (i == TRACE_WAIT_OTHER ? s->cause_ns[0] : 0));
}

static void add_line(struct answer *a, struct table *t, const struct line_sums *s, uint32_t line)
{
    const struct blame_line *l = &s->blame.lines[line];
    const struct cpu_sums *cpu = &s->lines[line].cpu;
    struct table_cell *c = table_add(a, t);
    const char *text;

    cell_number(&c[LINE_WAITING], cpu->wait_ns);
    heap_cell_percent(&c[LINE_PERCENT], (double)cpu->wait_ns, (double)s->sum.cpu.wait_ns);
    fill_causes(c, LINE_CAUSES, cpu);
    if (line < SCOPE_KINDS) {
        cell_text(&c[LINE_FILE], line_sums_kind(s, a->arena, line));
        return;
    }
    text = table_source_line(answer_source(a, s->blame.files[l->file].path), l->line);
    cell_text(&c[LINE_FUNCTION], s->blame.functions[l->function].name);
    cell_text(&c[LINE_FILE], s->blame.files[l->file].path);
    cell_number(&c[LINE_LINE], l->line);
    cell_text(&c[LINE_TEXT], text ? text + strspn(text, " \t") : NULL);
}

static void limit(struct table *t, uint64_t most, struct arena *a, const char *note)
{
    t->note = note;
    if ((uint64_t)t->rows <= most)
        return;
    t->note = arena_printf(a, "%d smaller ones are left out.%s%s", t->rows - (int)most,
                           note ? " " : "", note ? note : "");
    t->rows = (int)most;
}

/* ---- stacks ---- */

static void add_stacks(struct answer *a, struct table *t, const struct line_sums *s, uint64_t most)
{
    size_t count;
    struct wait_stack *all = wait_stacks(s, &count);

    for (size_t i = 0; i < count && i < most; i++) {
        const struct table_stack *stack = frames_shared(s->frames, all[i].stack);
        struct table_frame site = frames_site(s->frames, all[i].stack);
        struct table_cell *c = table_add(a, t);

        cell_number(&c[STACK_WAITING], all[i].sums.wait_ns);
        heap_cell_percent(&c[STACK_PERCENT], (double)all[i].sums.wait_ns,
                          (double)s->sum.cpu.wait_ns);
        fill_causes(c, STACK_CAUSES, &all[i].sums);
        cell_text(&c[STACK_SITE], stack ? table_frame_text(a->arena, &site) : "(stack not known)");
        cell_stack(&c[STACK], stack);
    }
    if (count > most)
        t->note = arena_printf(a->arena, "%zu stacks in all.", count);
    free(all);
}

/* ---- threads ---- */

static struct cpu_sums *sums_of_threads(const struct line_sums *s)
{
    struct threads *threads = &s->recorded->threads;
    struct cpu_sums *sums = memory_zeroed((threads->count + 1) * sizeof(*sums));

    for (size_t i = 0; i < s->time->count; i++) {
        const struct threads_thread *t = threads_find(threads, s->time->entries[i].thread);

        if (t)
            cpu_sums_add(&sums[t->place], &s->time->entries[i].sums);
    }
    return sums;
}

static const struct run_process *process_of(const struct intmap *places, const struct run *r,
                                            uint64_t number)
{
    uint64_t place;

    return intmap_get(places, number, &place) ? r->processes[place] : NULL;
}

static void add_threads(struct answer *a, struct table *t, const struct line_sums *s)
{
    struct cpu_sums *sums = sums_of_threads(s);
    struct intmap places = {0};

    for (size_t i = 0; i < s->recorded->run.process_count; i++)
        intmap_put(&places, s->recorded->run.processes[i]->number, i);

    for (size_t i = 0; i < s->recorded->threads.count; i++) {
        const struct threads_thread *thread = s->recorded->threads.list[i];
        const struct run_process *p = process_of(&places, &s->recorded->run, thread->process);
        struct table_cell *c;

        if (!sums[i].waits)
            continue;
        c = table_add(a, t);
        cell_number(&c[THREAD_WAITING], sums[i].wait_ns);
        fill_causes(c, THREAD_CAUSES, &sums[i]);
        if (s->cpu_known)
            cell_number(&c[THREAD_CPU], sums[i].ns);
        if (thread->tid)
            cell_number(&c[THREAD_TID], thread->tid);
        cell_text(&c[THREAD_THREAD], thread->name);
        if (p) {
            cells_pid(&c[THREAD_PID], p);
            cell_text(&c[THREAD_PROCESS], p->name);
        }
    }
    table_sort(t, THREAD_WAITING);
    intmap_free(&places);
    free(sums);
}

static void again(struct asked *q)
{
    line_sums_want(q->state, q->recorded, q->options, false);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct line_sums *s = q->state;
    struct table *lines = answer_add(a, "waits", TABLE_ROWS, line_columns, COUNT(line_columns));
    struct table *threads, *stacks;
    uint64_t most = q->options->rows ? q->options->rows : ROWS;

    (void)err;
    line_sums_read(s);
    line_cells_answer(a, s);
    if (s->waits_known) {
        for (uint32_t i = 0; i < s->blame.line_count; i++)
            if (s->lines[i].cpu.waits)
                add_line(a, lines, s, i);
        table_sort(lines, LINE_WAITING);
        limit(
            lines, most, a->arena,
            "All threads together. How long they waited is the scheduler's account; where they waited is sampled, about every 20 ms, of many threads less often. gil: for the interpreter's own lock; queue: ready to run, but no CPU was free, which is no part of waiting. Threads of a pool that have nothing to do are one row.");
        stacks = answer_add(a, "stacks", TABLE_ROWS, stack_columns, COUNT(stack_columns));
        add_stacks(a, stacks, s, q->options->rows ? q->options->rows : STACKS);
        threads = answer_add(a, "threads", TABLE_ROWS, thread_columns, COUNT(thread_columns));
        add_threads(a, threads, s);
        limit(threads, most, a->arena, NULL);
    } else {
        lines->note = "The trace holds no waits.";
    }
    line_sums_free(s);
    return 0;
}

const struct question question_waits = {
    .name = "waits",
    .summary = "where the threads waited, and for what",
    .group = QUESTION_OF_SOURCE,
    .more = ": sleep, poll, io, lock, the interpreter's lock, a free CPU",
    .reads = LINE_SUMS_READS,
    .state = sizeof(struct line_sums),
    .again = again,
    .run = run,
};
