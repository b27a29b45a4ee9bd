/* temporary - blocks that were freed before their thread allocated again (or: few times), by stack.
 * They cost time, not memory. Of a sampled block it is known if its thread allocated at all before its
 * free, but not how often.
 */
#include "analyze/heap_rows.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS 50

static const struct table_column columns[] = {
    {"blocks", UNIT_COUNT},
    {"percent", UNIT_PERCENT},
    {"error_percent", UNIT_PERCENT}, /* of blocks */
    {"bytes", UNIT_BYTES},
    {"blocks_allocated", UNIT_COUNT},
    {"percent_of_its", UNIT_PERCENT},
    {"processes", UNIT_COUNT},
    {"site", UNIT_TEXT},
    {"stack", UNIT_STACK},
};

static uint64_t weight(const struct heap_stack *s)
{
    return s->sums.temporary.milliblocks;
}

static const char *note(const struct heap *h)
{
    unsigned int most = h->options.temporary;

    if (h->temporary_known)
        return arena_printf(h->run.names.arena,
                            "%s. Temporary: freed before %u more allocation%s of its thread.",
                            h->sampled ? "Sampled" : "Exact", most, most == 1 ? "" : "s");
    if (h->exact)
        return "Only the blocks that were recorded exactly are counted.";
    return most == 1 ? "This sampled recording does not know which blocks were temporary: it was "
                       "made by an older version."
                     : "A sampled recording knows which blocks were freed before the next "
                       "allocation (--temporary 1), and no more; record with --exact.";
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *table = answer_add(a, "temporary", TABLE_ROWS, columns, COUNT(columns));
    const struct heap_row *row;
    struct heap_rows rows;
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    if (heap_begin(&h, a, table)) {
        double all = (double)h.sums.temporary.milliblocks;

        heap_rows_stacks(&rows, &h, weight, ROWS);
        for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++) {
            const struct heap_sums *s = &row->sum.sums;
            struct table_cell *c = table_add(a, table);

            heap_cell_blocks(&c[0], &s->temporary);
            heap_cell_percent(&c[1], (double)s->temporary.milliblocks, all);
            if (s->temporary.of_blocks > 0)
                cell_real(&c[2], heap_blocks_error(&s->temporary));
            heap_cell_bytes(&c[3], &s->temporary);
            heap_cell_blocks(&c[4], &s->allocated);
            heap_cell_percent(&c[5], (double)s->temporary.milliblocks,
                              (double)s->allocated.milliblocks);
            if (h.process_count > 1 && row->stack)
                cell_number(&c[6], row->sum.processes);
            heap_cell_site(&c[7], &h, &rows, row);
            heap_cell_stack(&c[8], &h, row);
        }
        table->note = note(&h);
    }
    heap_free(&h);
    return 0;
}

const struct question question_temporary = {
    .name = "temporary",
    .summary = "blocks that were freed almost at once, by stack",
    .run = run,
};
