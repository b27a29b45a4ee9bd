/* format_json - one object that describes itself:
 *
 *   schema    1; another number where a key has another meaning
 *   question
 *   asked     how the question was narrowed where that needs saying, or null
 *   unnamed   why functions in it have no name: a sentence for each module
 *   health    what the trace lacks, in one sentence, or null: nothing
 *   coverage  null: nothing was recorded from inside; else an object. processes: all of them;
 *             recorded: those wholly recorded; partly: those with a part missing; silent: those
 *             from which nothing came though nothing kept it back; how: "exactly", "sampled",
 *             "exactly and sampled" or "CPU time alone"; missing: an array of reason and processes
 *             (programs that one process runs in turn count each); losses, pauses: how often;
 *             late: looks at memory and CPU of the processes that were left out for want of time;
 *             exact_from: null, or the size from which on every block was recorded, where smaller
 *             ones were sampled; lost_events: allocations and frees that were lost; lost_parts:
 * some were that nobody has counted; at_least: what was not recorded at all would be added to the
 * numbers; programs: null, or how many were started by exec or spawn, and reached: how many of them
 * the library has begun in; line: all that as text left_out  what the limits of this reader kept
 * out of the answer, in one sentence, or null: nothing tables    by name, each with shape "facts",
 * "rows", "timeline" or "source" units   of every column (of every fact): text count bytes ns id
 * percent real depth change (bytes, with a sign) stack (an array of frames, the innermost first:
 * function, file, line, module, address; each null where it is not known; and inlined, guessed,
 *             elided, cut where they are true)
 *             series (an array of [ns, bytes]: the largest of the step that ends then)
 *     values  of facts: one object;  rows: an array of objects
 *     note    one sentence, or null
 *
 * Numbers are plain; absent is null. Keys are added, never renamed.
 */
#include "base/count.h"
#include "base/emit.h"
#include "report/formats.h"
#include "report/json_cells.h"

static const char *const shapes[] = {
    [TABLE_ROWS] = "rows",         [TABLE_FINDINGS] = "rows", [TABLE_FACTS] = "facts",
    [TABLE_TIMELINE] = "timeline", [TABLE_SOURCE] = "source",
};

static void put_facts(struct emit *j, const struct table *t)
{
    emit_key(j, "units");
    emit_open(j, '{');
    for (int i = 0; i < t->rows; i++) {
        emit_key(j, table_at(t, i, TABLE_NAME)->text);
        emit_text(j, json_unit(table_at(t, i, TABLE_VALUE)->unit));
    }
    emit_close(j, '}');
    emit_key(j, "values");
    emit_open(j, '{');
    for (int i = 0; i < t->rows; i++) {
        emit_key(j, table_at(t, i, TABLE_NAME)->text);
        json_cell(j, table_at(t, i, TABLE_VALUE));
    }
    emit_close(j, '}');
}

static void put_rows(struct emit *j, const struct table *t)
{
    emit_key(j, "units");
    emit_open(j, '{');
    for (int i = 0; i < t->width; i++) {
        emit_key(j, t->columns[i].name);
        emit_text(j, json_unit(t->columns[i].unit));
    }
    emit_close(j, '}');
    emit_key(j, "rows");
    emit_open(j, '[');
    for (int i = 0; i < t->rows; i++)
        json_row(j, t, i);
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

static void put_programs(struct emit *j, const struct table_coverage *c)
{
    emit_key(j, "programs");
    if (!c->accounted) {
        emit_null(j);
        return;
    }
    emit_open(j, '{');
    put_count(j, "started", c->started);
    put_count(j, "reached", c->reached);
    emit_close(j, '}');
}

static void put_since(struct emit *j, const struct table_exact_since *s)
{
    emit_key(j, "exact_since");
    if (!s->from) {
        emit_null(j);
        return;
    }
    emit_open(j, '{');
    put_count(j, "from", s->from);
    put_count(j, "time", s->time_ns);
    put_count(j, "processes", s->processes);
    emit_key(j, "library");
    emit_text(j, s->library);
    emit_close(j, '}');
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
    put_count(j, "late", c->late);
    emit_key(j, "exact_from");
    if (c->whole_from)
        emit_number(j, c->whole_from);
    else
        emit_null(j);
    put_since(j, &c->since);
    put_count(j, "lost_events", c->lost_events);
    emit_key(j, "lost_parts");
    emit_bool(j, c->lost_parts);
    emit_key(j, "at_least");
    emit_bool(j, c->at_least);
    put_programs(j, c);
    emit_key(j, "line");
    emit_text(j, c->line);
    emit_close(j, '}');
}

static void write_json(const struct answer *a, FILE *out)
{
    struct emit j = {.out = out, .first = true};

    emit_open(&j, '{');
    emit_key(&j, "schema");
    emit_number(&j, JSON_SCHEMA);
    emit_key(&j, "question");
    emit_text(&j, a->question);
    emit_key(&j, "asked");
    emit_text(&j, a->asked);
    emit_key(&j, "health");
    emit_text(&j, a->health);
    emit_key(&j, "unnamed");
    emit_open(&j, '[');
    for (int i = 0; i < a->unnamed_count; i++)
        emit_text(&j, a->unnamed[i]);
    emit_close(&j, ']');
    emit_key(&j, "coverage");
    put_coverage(&j, a->coverage);
    emit_key(&j, "left_out");
    emit_text(&j, a->left_out);
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
    .summary = "one object with units, plain numbers and null for what is absent",
    .write = write_json,
};
