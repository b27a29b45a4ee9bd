/* json_cells - see json_cells.h. */
#include "report/json_cells.h"

#include "base/count.h"
#include "report/show.h"

static const char *const units[] = {
    [UNIT_TEXT] = "text",     [UNIT_COUNT] = "count",
    [UNIT_BYTES] = "bytes",   [UNIT_NS] = "ns",
    [UNIT_ID] = "id",         [UNIT_PERCENT] = "percent",
    [UNIT_REAL] = "real",     [UNIT_DEPTH] = "depth",
    [UNIT_CHANGE] = "change", [UNIT_LONGER] = "ns_change",
    [UNIT_STACK] = "stack",   [UNIT_SERIES] = "series",
    [UNIT_MOMENT] = "text", /* a date */
};

const char *json_unit(enum table_unit unit)
{
    return units[unit];
}

static void put_frame(struct emit *j, const struct table_frame *f)
{
    static const struct {
        unsigned int flag;
        const char *name;
    } flags[] = {
        {TABLE_FRAME_INLINED, "inlined"}, {TABLE_FRAME_GUESSED, "guessed"},
        {TABLE_FRAME_ELIDED, "elided"},   {TABLE_FRAME_CUT, "cut"},
        {TABLE_FRAME_PYTHON, "python"},
    };

    emit_open(j, '{');
    emit_key(j, "function");
    emit_text(j, f->function);
    emit_key(j, "file");
    emit_text(j, f->file);
    emit_key(j, "line");
    if (f->line)
        emit_number(j, f->line);
    else
        emit_null(j);
    emit_key(j, "module");
    emit_text(j, f->module);
    emit_key(j, "address");
    if (f->flags & (TABLE_FRAME_ELIDED | TABLE_FRAME_CUT | TABLE_FRAME_PYTHON))
        emit_null(j);
    else
        emit_number(j, f->address);
    for (int i = 0; i < COUNT(flags); i++)
        if (f->flags & flags[i].flag) {
            emit_key(j, flags[i].name);
            emit_bool(j, true);
        }
    emit_close(j, '}');
}

static void put_stack(struct emit *j, const struct table_stack *stack)
{
    emit_open(j, '[');
    for (; stack; stack = stack->outer)
        for (int i = 0; i < stack->own; i++)
            put_frame(j, &stack->frames[i]);
    emit_close(j, ']');
}

static void put_series(struct emit *j, const struct table_series *s)
{
    bool flat = j->flat;

    emit_open(j, '[');
    j->flat = true;
    for (int i = 0; i < s->count; i++) {
        emit_open(j, '[');
        emit_number(j, s->from_ns + s->step_ns * ((uint64_t)i + 1));
        emit_number(j, s->bytes[i]);
        emit_close(j, ']');
    }
    emit_close(j, ']');
    j->flat = flat;
}

void json_cell(struct emit *j, const struct table_cell *c)
{
    char text[SHOW_ROOM];

    if (!c->present)
        emit_null(j);
    else if (c->unit == UNIT_TEXT)
        emit_text(j, c->text);
    else if (c->unit == UNIT_MOMENT)
        emit_text(j, show_plain(text, c));
    else if (c->unit == UNIT_PERCENT || c->unit == UNIT_REAL)
        emit_real(j, c->real);
    else if (c->unit == UNIT_STACK)
        put_stack(j, c->stack);
    else if (c->unit == UNIT_SERIES)
        put_series(j, c->series);
    else if (c->unit == UNIT_CHANGE || c->unit == UNIT_LONGER)
        emit_signed(j, c->change);
    else
        emit_number(j, c->number);
}

/* A row is one line: a table of a million rows can still be read by eye and by grep. */
void json_row(struct emit *j, const struct table *t, int row)
{
    emit_open(j, '{');
    j->flat = true;
    for (int i = 0; i < t->width; i++) {
        emit_key(j, t->columns[i].name);
        json_cell(j, table_at(t, row, i));
    }
    emit_close(j, '}');
    j->flat = false;
}
