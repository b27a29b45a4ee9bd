/* threads - what each thread allocated and freed, and the CPU time it used. */
#include "analyze/cpu_time.h"
#include "analyze/heap_pass.h"
#include "analyze/heap_rows.h"
#include "base/memory.h"

#include <stdlib.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct table_column columns[] = {
    {"allocated", UNIT_BYTES},
    {"blocks", UNIT_COUNT},
    {"error_percent", UNIT_PERCENT},
    {"blocks_per_second", UNIT_COUNT},
    {"freed", UNIT_BYTES},
    {"blocks_freed", UNIT_COUNT},
    {"temporary_blocks", UNIT_COUNT},
    {"temporary_percent", UNIT_PERCENT},
    {"cpu", UNIT_NS},
    {"python", UNIT_NS},
    {"native", UNIT_NS},
    {"system", UNIT_NS},
    {"waiting", UNIT_NS},
    {"from", UNIT_NS},
    {"to", UNIT_NS},
    {"tid", UNIT_ID},
    {"thread", UNIT_TEXT},
    {"pid", UNIT_ID},
    {"process", UNIT_TEXT},
};
#define CPU_AT 8
#define WHO_AT 13

static void fill_memory(struct table_cell *c, const struct heap *h, const struct heap_thread *t)
{
    const struct heap_process *p = heap_process_of(h, t->process);
    uint64_t to = t->ended ? t->to_ns : p ? p->to_ns : t->to_ns;
    double blocks = (double)t->sums.allocated.milliblocks;

    heap_cell_bytes(&c[0], &t->sums.allocated);
    heap_cell_blocks(&c[1], &t->sums.allocated);
    heap_cell_error(&c[2], &t->sums.allocated);
    if (to > t->from_ns && !h->options.from_ns && !h->options.to_ns)
        cell_rounded(&c[3], blocks * 1e6 / (double)(to - t->from_ns));
    heap_cell_bytes(&c[4], &t->sums.freed);
    heap_cell_blocks(&c[5], &t->sums.freed);
    if (h->temporary_known) {
        heap_cell_blocks(&c[6], &t->sums.temporary);
        heap_cell_percent(&c[7], (double)t->sums.temporary.milliblocks, blocks);
    }
}

/* What was recorded of no thread at all stays absent. */
static void fill_cpu(struct table_cell *c, const struct cpu_sums *own, const struct cpu_sums *all)
{
    if (all->samples) {
        cell_number(&c[0], own->ns);
        for (int i = TRACE_CPU_PYTHON; i <= TRACE_CPU_SYSTEM; i++)
            cell_number(&c[i], own->sort_ns[i]);
    }
    if (all->waits)
        cell_number(&c[4], own->wait_ns);
}

static void fill_who(struct table_cell *c, const struct run_process *p, const struct heap_thread *t)
{
    cell_number(&c[0], t->from_ns);
    if (t->ended)
        cell_number(&c[1], t->to_ns);
    if (t->tid)
        cell_number(&c[2], t->tid);
    cell_text(&c[3], t->name);
    if (p) {
        cell_number(&c[4], p->pid);
        cell_text(&c[5], p->name);
    }
}

static void read_time(struct cpu_time *time, struct trace *t, const struct question_options *o)
{
    struct trace_event ev;

    time->from_ns = o->from_ns;
    time->to_ns = o->to_ns;
    trace_rewind(t, o->from_ns, o->to_ns ? o->to_ns : UINT64_MAX);
    while (trace_next(t, &ev))
        cpu_time_take(time, &ev);
}

static void add_rows(struct answer *a, struct table *table, const struct heap *h,
                     const struct cpu_time *time)
{
    struct cpu_sums *sums = memory_zeroed((h->thread_count + 1) * sizeof(*sums));
    struct intmap processes = {0};
    uint64_t place;

    for (size_t i = 0; i < time->count; i++)
        if (intmap_get(&h->pass->threads, time->entries[i].thread, &place))
            cpu_sums_add(&sums[place - 1], &time->entries[i].sums);
    for (size_t i = 0; i < h->run.process_count; i++)
        intmap_put(&processes, h->run.processes[i]->number, i);
    for (size_t i = 0; i < h->thread_count; i++) {
        const struct heap_thread *t = h->threads[i];
        struct table_cell *c = table_add(a, table);

        if (h->any)
            fill_memory(c, h, t);
        fill_cpu(&c[CPU_AT], &sums[i], &time->sums);
        fill_who(&c[WHO_AT],
                 intmap_get(&processes, t->process, &place) ? h->run.processes[place] : NULL, t);
    }
    intmap_free(&processes);
    free(sums);
    table_sort(table, h->any ? 0 : CPU_AT);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *table = answer_add(a, "threads", TABLE_ROWS, columns, COUNT(columns));
    struct cpu_time time = {0};
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    read_time(&time, t, o);
    if (heap_begin(&h, a, table) || time.count) {
        add_rows(a, table, &h, &time);
        table->note = h.any ? "A block is freed by the thread that frees it, whoever allocated it."
                            : NULL;
        if (o->rows && (uint64_t)table->rows > o->rows) {
            table->rows = (int)o->rows;
            table->note = arena_printf(a->arena, "%zu threads in all.", h.thread_count);
        }
    }
    cpu_time_free(&time);
    heap_free(&h);
    return 0;
}

const struct question question_threads = {
    .name = "threads",
    .summary = "what each thread allocated and freed, and its CPU time",
    .run = run,
};
