/* format_collapsed - stacks for flame graphs, as flamegraph.pl, inferno and speedscope read them:
 *
 *   outermost;...;innermost BYTES
 *
 * One line per row of the first table that has stacks, with its first column of bytes, or of time in
 * ns where it has none. Rows of 0 are left out. Names that inlining gave are frames of their own. What would end a name is
 * replaced: ';' by ':', controls by '?'.
 */
#include "report/formats.h"

#include <inttypes.h>
#include <string.h>

static int find_column(const struct table *t, enum table_unit unit)
{
    for (int i = 0; i < t->width; i++)
        if (t->columns[i].unit == unit)
            return i;
    return -1;
}

static int find_value(const struct table *t)
{
    int bytes = find_column(t, UNIT_BYTES);

    return bytes >= 0 ? bytes : find_column(t, UNIT_NS);
}

const struct table *formats_stacks(const struct answer *a)
{
    for (int i = 0; i < a->count; i++)
        if (a->tables[i]->shape != TABLE_FACTS && find_column(a->tables[i], UNIT_STACK) >= 0 &&
            find_value(a->tables[i]) >= 0)
            return a->tables[i];
    return NULL;
}

static void put_name(const char *name, FILE *out)
{
    for (; *name; name++)
        fputc(*name == ';' ? ':' : (unsigned char)*name < ' ' ? '?' : *name, out);
}

static void put_frame(const struct table_frame *f, FILE *out)
{
    const char *base = f->module ? strrchr(f->module, '/') : NULL;

    if (f->flags & TABLE_FRAME_ELIDED) {
        fputs("[frames left out]", out);
    } else if (f->flags & TABLE_FRAME_CUT) {
        fputs("[not followed further]", out);
    } else if (f->function) {
        put_name(f->function, out);
    } else {
        put_name(base ? base + 1 : f->module ? f->module : "", out);
        fprintf(out, "%s0x%" PRIx64, f->module ? "+" : "", f->address);
    }
}

static void put_row(const struct table_cell *stack, const struct table_cell *value, FILE *out)
{
    int count = stack->present ? stack->stack->count : 0;

    if (!value->present || value->number == 0)
        return;
    if (count == 0)
        fputs("[no stack]", out);
    for (int i = count - 1; i >= 0; i--) {
        put_frame(&stack->stack->frames[i], out);
        if (i)
            fputc(';', out);
    }
    fprintf(out, " %" PRIu64 "\n", value->number);
}

static void write_collapsed(const struct answer *a, FILE *out)
{
    const struct table *t = formats_stacks(a);

    for (int row = 0; t && row < t->rows; row++) {
        const struct table_cell *cells = t->cells + (size_t)row * (size_t)t->width;

        put_row(&cells[find_column(t, UNIT_STACK)], &cells[find_value(t)], out);
    }
}

const struct format format_collapsed = {
    .name = "collapsed",
    .summary = "stacks with their bytes or time, one per line, for flame graphs",
    .stacks = true,
    .write = write_collapsed,
};
