/* format_json - one object that describes itself:
 *
 *   question
 *   health    what the trace lacks, in one sentence, or null: nothing
 *   coverage  null: nothing was recorded from inside; else an object. processes: all of them;
 *             recorded: those wholly recorded; partly: those with a part missing; silent: those
 *             from which nothing came though nothing kept it back; how: "exactly", "sampled",
 *             "exactly and sampled" or "CPU time alone"; missing: an array of reason and processes
 *             (programs that one process runs in turn count each); losses, pauses: how often; line:
 *             all that as text
 *   tables    by name, each with
 *     shape   "facts", "rows", "timeline" or "source"
 *     units   of every column (of every fact): text count bytes ns id percent real depth
 *             change (bytes, with a sign) stack (an array of frames, the innermost first: function,
 *             file, line, module, address; each null where it is not known; and inlined, guessed,
 *             elided, cut where they are true)
 *             series (an array of [ns, bytes]: the largest of the step that ends then)
 *     values  of facts: one object;  rows: an array of objects
 *     note    one sentence, or null
 *
 * Numbers are plain; absent is null. Keys are added, never renamed.
 */
#include "base/emit.h"
#include "report/formats.h"

static const char *const units[] = {
    [UNIT_TEXT] = "text",   [UNIT_COUNT] = "count",   [UNIT_BYTES] = "bytes",
    [UNIT_NS] = "ns",       [UNIT_ID] = "id",         [UNIT_PERCENT] = "percent",
    [UNIT_REAL] = "real",   [UNIT_DEPTH] = "depth",   [UNIT_CHANGE] = "change",
    [UNIT_STACK] = "stack", [UNIT_SERIES] = "series",
};

static const char *const shapes[] = {
    [TABLE_ROWS] = "rows",
    [TABLE_FACTS] = "facts",
    [TABLE_TIMELINE] = "timeline",
    [TABLE_SOURCE] = "source",
};

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
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (f->flags & flags[i].flag) {
            emit_key(j, flags[i].name);
            emit_bool(j, true);
        }
    emit_close(j, '}');
}

static void put_stack(struct emit *j, const struct table_stack *stack)
{
    emit_open(j, '[');
    for (int i = 0; i < stack->count; i++)
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

static void put_cell(struct emit *j, const struct table_cell *c)
{
    if (!c->present)
        emit_null(j);
    else if (c->unit == UNIT_TEXT)
        emit_text(j, c->text);
    else if (c->unit == UNIT_PERCENT || c->unit == UNIT_REAL)
        emit_real(j, c->real);
    else if (c->unit == UNIT_STACK)
        put_stack(j, c->stack);
    else if (c->unit == UNIT_SERIES)
        put_series(j, c->series);
    else if (c->unit == UNIT_CHANGE)
        emit_signed(j, c->change);
    else
        emit_number(j, c->number);
}

static void put_facts(struct emit *j, const struct table *t)
{
    emit_key(j, "units");
    emit_open(j, '{');
    for (int i = 0; i < t->rows; i++) {
        emit_key(j, t->cells[i * 2].text);
        emit_text(j, units[t->cells[i * 2 + 1].unit]);
    }
    emit_close(j, '}');
    emit_key(j, "values");
    emit_open(j, '{');
    for (int i = 0; i < t->rows; i++) {
        emit_key(j, t->cells[i * 2].text);
        put_cell(j, &t->cells[i * 2 + 1]);
    }
    emit_close(j, '}');
}

/* A row is one line: a table of a million rows can still be read by eye and by grep. */
static void put_row(struct emit *j, const struct table *t, const struct table_cell *cells)
{
    emit_open(j, '{');
    j->flat = true;
    for (int i = 0; i < t->width; i++) {
        emit_key(j, t->columns[i].name);
        put_cell(j, &cells[i]);
    }
    emit_close(j, '}');
    j->flat = false;
}

static void put_rows(struct emit *j, const struct table *t)
{
    emit_key(j, "units");
    emit_open(j, '{');
    for (int i = 0; i < t->width; i++) {
        emit_key(j, t->columns[i].name);
        emit_text(j, units[t->columns[i].unit]);
    }
    emit_close(j, '}');
    emit_key(j, "rows");
    emit_open(j, '[');
    for (int i = 0; i < t->rows; i++)
        put_row(j, t, t->cells + (size_t)i * (size_t)t->width);
    emit_close(j, ']');
}

static void put_count(struct emit *j, const char *key, uint64_t count)
{
    emit_key(j, key);
    emit_number(j, count);
}

static void put_missing(struct emit *j, const struct table_coverage *c)
{
    emit_key(j, "missing");
    emit_open(j, '[');
    for (int i = 0; i < c->missing_count; i++) {
        emit_open(j, '{');
        emit_key(j, "reason");
        emit_text(j, c->missing[i].reason);
        put_count(j, "processes", c->missing[i].processes);
        emit_close(j, '}');
    }
    emit_close(j, ']');
}

static void put_coverage(struct emit *j, const struct table_coverage *c)
{
    if (!c) {
        emit_null(j);
        return;
    }
    emit_open(j, '{');
    put_count(j, "processes", c->processes);
    put_count(j, "recorded", c->recorded);
    put_count(j, "partly", c->partly);
    put_count(j, "silent", c->silent);
    emit_key(j, "how");
    emit_text(j, c->how);
    put_missing(j, c);
    put_count(j, "losses", c->losses);
    put_count(j, "pauses", c->pauses);
    emit_key(j, "line");
    emit_text(j, c->line);
    emit_close(j, '}');
}

static void write_json(const struct answer *a, FILE *out)
{
    struct emit j = {.out = out, .first = true};

    emit_open(&j, '{');
    emit_key(&j, "question");
    emit_text(&j, a->question);
    emit_key(&j, "health");
    emit_text(&j, a->health);
    emit_key(&j, "coverage");
    put_coverage(&j, a->coverage);
    emit_key(&j, "tables");
    emit_open(&j, '{');
    for (int i = 0; i < a->count; i++) {
        const struct table *t = a->tables[i];

        emit_key(&j, t->name);
        emit_open(&j, '{');
        emit_key(&j, "shape");
        emit_text(&j, shapes[t->shape]);
        (t->shape == TABLE_FACTS ? put_facts : put_rows)(&j, t);
        emit_key(&j, "note");
        emit_text(&j, t->note);
        emit_close(&j, '}');
    }
    emit_close(&j, '}');
    emit_close(&j, '}');
    fputc('\n', out);
}

const struct format format_json = {
    .name = "json",
    .summary = "one object with plain numbers, units and null for what is absent",
    .write = write_json,
};
