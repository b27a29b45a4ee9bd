/* steps_marks - see steps_answer.h: marks and snapshots, with the heap of their moment. */
#include "base/count.h"
#include "questions/heap_cells.h"
#include "questions/steps_answer.h"

enum {
    MARK_TIME,
    MARK_NAME,
    MARK_VALUE,
    MARK_KIND,
    MARK_HEAP,
    MARK_ERROR_PERCENT,
    MARK_PID,
    MARK_TID,
};

static const struct table_column mark_columns[] = {
    [MARK_TIME] = {"time", UNIT_NS},    [MARK_NAME] = {"name", UNIT_TEXT},
    [MARK_VALUE] = {"value", UNIT_ID},  [MARK_KIND] = {"kind", UNIT_TEXT},
    [MARK_HEAP] = {"heap", UNIT_BYTES}, [MARK_ERROR_PERCENT] = {"error_percent", UNIT_PERCENT},
    [MARK_PID] = {"pid", UNIT_ID},      [MARK_TID] = {"tid", UNIT_ID, .detail = true},
};

static void put_mark(const struct steps_answer *w, struct table_cell *c,
                     const struct named_moment *m)
{
    const struct threads_thread *thread = threads_find(&w->recorded->threads, m->thread);
    struct heap_amount heap;

    cell_number(&c[MARK_TIME], m->time_ns);
    cell_text(&c[MARK_NAME], m->name);
    if (m->kind == TRACE_MARK_MOMENT)
        cell_number(&c[MARK_VALUE], m->value);
    cell_text(&c[MARK_KIND], m->kind == TRACE_MARK_SNAPSHOT ? "snapshot" : "mark");
    steps_pid(&c[MARK_PID], NULL, w, m->process);
    if (thread && thread->tid)
        cell_number(&c[MARK_TID], thread->tid);
    if (!step_heap_at(&w->state->heap, m->process, m->time_ns, &heap))
        return;
    heap_cell_bytes(&c[MARK_HEAP], &heap);
    heap_cell_error(&c[MARK_ERROR_PERCENT], &heap);
}

void steps_put_marks(const struct steps_answer *w)
{
    struct table *t = answer_add(w->answer, "marks", TABLE_ROWS, mark_columns, COUNT(mark_columns));
    const struct moments *m = &w->recorded->moments;
    uint64_t most = w->options->rows ? w->options->rows : STEPS_ROWS;
    size_t left = 0;

    for (size_t i = 0; i < m->count; i++) {
        if (m->list[i].kind == TRACE_MARK_STEP ||
            !steps_asked_for(w->options, m->list[i].time_ns, m->list[i].time_ns))
            continue;
        if ((uint64_t)t->rows < most)
            put_mark(w, table_add(w->answer, t), &m->list[i]);
        else
            left++;
    }
    if (left)
        t->note = arena_printf(w->answer->arena,
                               "The first; %zu more came later. The question snapshots has more "
                               "of each.",
                               left);
    else if (t->rows)
        t->note = "The question snapshots has more of each.";
}
