/* question_threads - what each thread allocated and freed, and the CPU time it used. */
#include "base/count.h"
#include "base/memory.h"
#include "model/cpu_time.h"
#include "model/heap_rows.h"
#include "questions/cells.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

#include <stdlib.h>

enum {
    ALLOCATED,
    BLOCKS,
    ERROR_PERCENT,
    BLOCKS_PER_SECOND,
    FREED,
    BLOCKS_FREED,
    TEMPORARY_BLOCKS,
    TEMPORARY_PERCENT,
    CPU,
    PYTHON,
    NATIVE,
    SYSTEM,
    WAITING,
    FROM,
    TO,
    TID,
    THREAD,
    PID,
    PROCESS,
};

static const struct table_column columns[] = {
    [ALLOCATED] = {"allocated", UNIT_BYTES},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
    [BLOCKS_PER_SECOND] = {"blocks_per_second", UNIT_COUNT, .detail = true},
    [FREED] = {"freed", UNIT_BYTES, .detail = true},
    [BLOCKS_FREED] = {"blocks_freed", UNIT_COUNT, .detail = true},
    [TEMPORARY_BLOCKS] = {"temporary_blocks", UNIT_COUNT, .detail = true},
    [TEMPORARY_PERCENT] = {"temporary_percent", UNIT_PERCENT, .detail = true},
    [CPU] = {"cpu", UNIT_NS},
    [PYTHON] = {"python", UNIT_NS, .detail = true},
    [NATIVE] = {"native", UNIT_NS, .detail = true},
    [SYSTEM] = {"system", UNIT_NS, .detail = true},
    [WAITING] = {"waiting", UNIT_NS},
    [FROM] = {"from", UNIT_NS, .detail = true},
    [TO] = {"to", UNIT_NS, .detail = true},
    [TID] = {"tid", UNIT_ID},
    [THREAD] = {"thread", UNIT_TEXT},
    [PID] = {"pid", UNIT_ID},
    [PROCESS] = {"process", UNIT_TEXT},
};

static void fill_memory(struct table_cell *c, const struct heap *h, const struct threads_thread *t)
{
    const struct heap_process *p = heap_process_of(h, t->process);
    uint64_t to = t->ended ? t->to_ns : p ? p->to_ns : t->to_ns;
    const struct heap_sums sums = heap_thread_sums(h, t);
    double blocks = (double)sums.allocated.milliblocks;

    heap_cell_bytes(&c[ALLOCATED], &sums.allocated);
    heap_cell_blocks(&c[BLOCKS], &sums.allocated);
    heap_cell_error(&c[ERROR_PERCENT], &sums.allocated);
    if (to > t->from_ns && !h->options.from_ns && !h->options.to_ns)
        cell_rounded(&c[BLOCKS_PER_SECOND], blocks * 1e6 / (double)(to - t->from_ns));
    heap_cell_bytes(&c[FREED], &sums.freed);
    heap_cell_blocks(&c[BLOCKS_FREED], &sums.freed);
    if (h->temporary_known) {
        heap_cell_blocks(&c[TEMPORARY_BLOCKS], &sums.temporary);
        heap_cell_percent(&c[TEMPORARY_PERCENT], (double)sums.temporary.milliblocks, blocks);
    }
}

/* What was recorded of no thread at all stays absent. */
static void fill_cpu(struct table_cell *c, const struct cpu_sums *own, const struct cpu_sums *all)
{
    if (all->samples) {
        cell_number(&c[CPU], own->ns);
        cell_number(&c[PYTHON], own->kind_ns[TRACE_CPU_PYTHON]);
        cell_number(&c[NATIVE], own->kind_ns[TRACE_CPU_NATIVE]);
        cell_number(&c[SYSTEM], own->kind_ns[TRACE_CPU_SYSTEM]);
    }
    if (all->waits)
        cell_number(&c[WAITING], own->wait_ns);
}

static void fill_who(struct table_cell *c, const struct run_process *p,
                     const struct threads_thread *t)
{
    cell_number(&c[FROM], t->from_ns);
    if (t->ended)
        cell_number(&c[TO], t->to_ns);
    if (t->tid)
        cell_number(&c[TID], t->tid);
    cell_text(&c[THREAD], t->name);
    if (p) {
        cells_pid(&c[PID], p);
        cell_text(&c[PROCESS], p->name);
    }
}

static void add_rows(struct answer *a, struct table *table, struct recorded *r)
{
    const struct heap *h = &r->heap;
    struct cpu_sums *sums = memory_zeroed((r->threads.count + 1) * sizeof(*sums));
    struct intmap processes = {0};
    uint64_t place;

    for (size_t i = 0; i < r->cpu.count; i++) {
        const struct threads_thread *t = threads_find(&r->threads, r->cpu.entries[i].thread);

        if (t)
            cpu_sums_add(&sums[t->place], &r->cpu.entries[i].sums);
    }
    for (size_t i = 0; i < r->run.process_count; i++)
        intmap_put(&processes, r->run.processes[i]->number, i);
    for (size_t i = 0; i < r->threads.count; i++) {
        const struct threads_thread *t = r->threads.list[i];
        struct table_cell *c = table_add(a, table);

        if (h->any)
            fill_memory(c, h, t);
        fill_cpu(c, &sums[i], &r->cpu.sums);
        fill_who(c, intmap_get(&processes, t->process, &place) ? r->run.processes[place] : NULL, t);
    }
    intmap_free(&processes);
    free(sums);
    table_sort(table, h->any ? ALLOCATED : CPU);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct table *table = answer_add(a, "threads", TABLE_ROWS, columns, COUNT(columns));
    struct recorded *r = q->recorded;
    uint64_t rows = q->options->rows;

    (void)err;
    if (heap_begin(&r->heap, a, table) || r->cpu.count) {
        add_rows(a, table, r);
        table->note = r->heap.any
                        ? "Freed counts what a thread has freed, whichever thread allocated it."
                        : NULL;
        if (rows && (uint64_t)table->rows > rows) {
            table->rows = (int)rows;
            table->note = arena_printf(a->arena, "%zu threads in all.", r->threads.count);
        }
    }
    return 0;
}

const struct question question_threads = {
    .name = "threads",
    .summary = "what each thread allocated and freed, and its CPU time",
    .group = QUESTION_OF_ALLOCATIONS,
    .reads = RECORDED_HEAP | RECORDED_CPU,
    .run = run,
};
