/* threads - what each thread allocated and freed. */
#include "analyze/heap_rows.h"

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
    {"from", UNIT_NS},
    {"to", UNIT_NS},
    {"tid", UNIT_ID},
    {"thread", UNIT_TEXT},
    {"pid", UNIT_ID},
    {"process", UNIT_TEXT},
};

static void fill(struct table_cell *c, const struct heap *h, const struct heap_thread *t)
{
    const struct heap_process *p = heap_process_of(h, t->process);
    uint64_t to = t->ended ? t->to_ns : p ? p->to_ns : t->to_ns;
    double blocks = (double)t->sums.allocated.milliblocks;

    heap_cell_bytes(&c[0], &t->sums.allocated);
    heap_cell_blocks(&c[1], &t->sums.allocated);
    heap_cell_error(&c[2], &t->sums.allocated);
    if (to > t->from_ns && !h->options.from_ns && !h->options.to_ns)
        cell_number(&c[3], (uint64_t)(blocks * 1e6 / (double)(to - t->from_ns) + 0.5));
    heap_cell_bytes(&c[4], &t->sums.freed);
    heap_cell_blocks(&c[5], &t->sums.freed);
    if (h->exact) {
        heap_cell_blocks(&c[6], &t->sums.temporary);
        heap_cell_percent(&c[7], (double)t->sums.temporary.milliblocks, blocks);
    }
    cell_number(&c[8], t->from_ns);
    if (t->ended)
        cell_number(&c[9], t->to_ns);
    if (t->tid)
        cell_number(&c[10], t->tid);
    cell_text(&c[11], t->name);
    if (p && p->run) {
        cell_number(&c[12], p->run->pid);
        cell_text(&c[13], p->run->name);
    }
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *table = answer_add(a, "threads", TABLE_ROWS, columns, COUNT(columns));
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    if (heap_begin(&h, a, table)) {
        for (size_t i = 0; i < h.thread_count; i++)
            fill(table_add(a, table), &h, h.threads[i]);
        table_sort(table, 0);
        table->note = "A block is freed by the thread that frees it, whoever allocated it.";
        if (o->rows && (uint64_t)table->rows > o->rows) {
            table->rows = (int)o->rows;
            table->note = arena_printf(a->arena, "%zu threads in all.", h.thread_count);
        }
    }
    heap_free(&h);
    return 0;
}

const struct question question_threads = {
    .name = "threads",
    .summary = "what each thread allocated and freed",
    .run = run,
};
