/* page_tensors - see page_tensors.h. */
#include "questions/page_tensors.h"

#include "base/count.h"

#define MOMENTS 240
#define ROWS 40
#define PROCESSES_MOST 64 /* others are told as one */

static const struct question *const asks[PAGE_TENSORS_ASKS] = {
    &question_ops, &question_steps, &question_what_if, &question_inefficient};

/* ---- both passes ---- */

void page_tensors_begin(struct page_tensors *t, struct asked *q)
{
    t->options = *q->options;
    t->options.rows = ROWS;
    t->options.finer = (struct selection_finer){0, 0};
    for (int i = 0; i < COUNT(asks); i++) {
        struct arena *a = q->answer->arena;

        t->answers[i] = (struct answer){.arena = a, .question = asks[i]->name};
        t->asked[i] = (struct asked){q->recorded, &t->options, &t->answers[i],
                                     arena_alloc(a, asks[i]->state)};
        if (asks[i]->begin)
            asks[i]->begin(&t->asked[i]);
    }
}

void page_tensors_again(struct page_tensors *t, struct asked *q, const struct heap_edges *g)
{
    t->wanted = q->recorded->moments.find.active && q->recorded->heap.any && g->any;
    if (!t->wanted)
        return;
    tensor_want(q, &t->tensors);
    t->tensors.tensors.shadows = true;
    tensor_course_stretches(&t->course, g, MOMENTS);
    tensor_course_want(&t->course, &q->recorded->heap, &t->tensors);
    for (int i = 0; i < COUNT(asks); i++)
        if (asks[i]->again)
            asks[i]->again(&t->asked[i]);
    for (int i = 0; i < COUNT(asks); i++) /* to describe stacks takes longer than all else */
        if (asks[i]->group == QUESTION_OF_TENSORS)
            ((struct tensor_state *)t->asked[i].state)->stacks.like = &t->tensors.stacks;
}

void page_tensors_read(struct page_tensors *t, struct asked *q)
{
    struct err ignored;

    if (!t->wanted)
        return;
    t->any = t->tensors.tensors.count > 0;
    if (t->any) {
        tensor_kinds_all(&t->tensors.tensors, q->answer->arena);
        tensor_course_end(&t->course);
    }
    for (int i = 0; i < COUNT(asks); i++) /* those that have no answer have no tables, either */
        asks[i]->run(&t->asked[i], &ignored);
}

void page_tensors_free(struct page_tensors *t)
{
    tensor_course_free(&t->course);
    tensor_end(&t->tensors);
}

/* ---- over time ---- */

/* All moments of a process, kind by kind; those without anything are left out. */
static void put_kinds(struct emit *j, const struct tensor_course *c, size_t first, size_t last)
{
    emit_key(j, "v");
    emit_open(j, '[');
    for (int k = 0; k < TENSOR_PARTS_KINDS; k++) {
        emit_open(j, '[');
        for (size_t m = 0; m < c->count; m++) {
            uint64_t sum = 0;

            for (size_t p = first; p < last; p++) {
                const uint64_t *of = tensor_course_of(c, p, m);

                sum += of ? of[tensor_parts_order[k]] : 0;
            }
            emit_number(j, sum);
        }
        emit_close(j, ']');
    }
    emit_close(j, ']');
}

static void put_process(struct emit *j, const struct tensor_course *c, size_t first, size_t last)
{
    const struct run_process *run = c->heap->processes[first]->run;

    emit_open(j, '{');
    emit_key(j, "process");
    emit_signed(j, run && last == first + 1 ? (int64_t)run->place : -1);
    put_kinds(j, c, first, last);
    emit_close(j, '}');
}

static void put_course(struct emit *j, const struct tensor_course *c)
{
    size_t count = c->heap->process_count, own = count < PROCESSES_MOST ? count : PROCESSES_MOST;
    uint64_t before = 0;

    emit_key(j, "kinds");
    emit_open(j, '[');
    for (int k = 0; k < TENSOR_PARTS_KINDS; k++)
        emit_text(j, tensor_parts_text(tensor_parts_order[k]));
    emit_close(j, ']');
    emit_key(j, "t");
    emit_open(j, '[');
    for (size_t m = 0; m < c->count; m++) {
        emit_number(j, c->times[m] / 1000 - before);
        before = c->times[m] / 1000;
    }
    emit_close(j, ']');
    emit_key(j, "of");
    emit_open(j, '[');
    for (size_t p = 0; p < own; p++)
        if (c->of[p].bytes)
            put_process(j, c, p, p + 1);
    if (own < count)
        put_process(j, c, own, count);
    emit_close(j, ']');
}

/* ---- tables ---- */

static const char *unit_text(enum table_unit unit)
{
    static const char *const texts[] = {
        [UNIT_TEXT] = "text",     [UNIT_COUNT] = "count", [UNIT_BYTES] = "bytes",
        [UNIT_NS] = "ns",         [UNIT_ID] = "id",       [UNIT_PERCENT] = "percent",
        [UNIT_REAL] = "real",     [UNIT_DEPTH] = "count", [UNIT_STACK] = NULL,
        [UNIT_CHANGE] = "change", [UNIT_LONGER] = NULL,   [UNIT_SERIES] = NULL,
        [UNIT_MOMENT] = NULL};

    return texts[unit];
}

static void put_cell(struct emit *j, const struct table_cell *c, enum table_unit unit)
{
    if (!c->present)
        emit_null(j);
    else if (unit == UNIT_TEXT)
        emit_text(j, c->text);
    else if (unit == UNIT_PERCENT || unit == UNIT_REAL)
        emit_real(j, c->real);
    else if (unit == UNIT_CHANGE)
        emit_signed(j, c->change);
    else
        emit_number(j, c->number);
}

static bool has_any(const struct table *t, int column)
{
    for (int row = 0; row < t->rows; row++)
        if (table_at(t, row, column)->present)
            return true;
    return false;
}

/* Columns that a page can show, and that are not empty. */
static bool is_shown(const struct table *t, int column)
{
    return unit_text(t->columns[column].unit) && has_any(t, column);
}

static void put_rows(struct emit *j, const struct table *t)
{
    emit_key(j, "columns");
    emit_open(j, '[');
    for (int i = 0; i < t->width; i++)
        if (is_shown(t, i)) {
            emit_open(j, '[');
            emit_text(j, t->columns[i].name);
            emit_text(j, unit_text(t->columns[i].unit));
            emit_close(j, ']');
        }
    emit_close(j, ']');
    emit_key(j, "rows");
    emit_open(j, '[');
    for (int row = 0; row < t->rows; row++) {
        emit_open(j, '[');
        for (int i = 0; i < t->width; i++)
            if (is_shown(t, i))
                put_cell(j, table_at(t, row, i), t->columns[i].unit);
        emit_close(j, ']');
    }
    emit_close(j, ']');
}

static void put_table(struct emit *j, const char *question, const struct table *t)
{
    if (t->shape != TABLE_ROWS || (!t->rows && !t->note))
        return;
    emit_open(j, '{');
    emit_key(j, "question");
    emit_text(j, question);
    emit_key(j, "name");
    emit_text(j, t->name);
    emit_key(j, "note");
    emit_text(j, t->note);
    put_rows(j, t);
    emit_close(j, '}');
}

void page_tensors_emit(struct emit *j, void *tensors)
{
    const struct page_tensors *t = tensors;

    emit_open(j, '{');
    put_course(j, &t->course);
    emit_key(j, "tables");
    emit_open(j, '[');
    for (int i = 0; i < COUNT(asks); i++)
        for (int n = 0; n < t->answers[i].count; n++)
            put_table(j, asks[i]->name, t->answers[i].tables[n]);
    emit_close(j, ']');
    emit_close(j, '}');
}
