/* findings - see findings.h: the list, and how it is told. What is found is in the other
 * findings_*.c.
 */
#include "questions/findings.h"

#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"
#include "questions/finding_rules.h"

#include <string.h>

enum {
    WHAT = TABLE_WHAT,
    LOOK_AT = TABLE_LOOK_AT,
    KIND,
    SEVERITY,
    TITLE,
    EVIDENCE,
    ADVICE,
    CONFIDENCE,
    FILE_NAME,
    LINE,
    CODE,
    FUNCTION,
    VIEW,
    MEASURE,
    FROM,
    TO
};

static const struct table_column columns[] = {
    [WHAT] = {"what", UNIT_TEXT},      [LOOK_AT] = {"look_at", UNIT_TEXT},
    [KIND] = {"kind", UNIT_TEXT},      [SEVERITY] = {"severity", UNIT_COUNT},
    [TITLE] = {"title", UNIT_TEXT},    [EVIDENCE] = {"evidence", UNIT_TEXT},
    [ADVICE] = {"advice", UNIT_TEXT},  [CONFIDENCE] = {"confidence", UNIT_TEXT},
    [FILE_NAME] = {"file", UNIT_TEXT}, [LINE] = {"line", UNIT_ID},
    [CODE] = {"code", UNIT_TEXT},      [FUNCTION] = {"function", UNIT_TEXT},
    [VIEW] = {"view", UNIT_TEXT},      [MEASURE] = {"measure", UNIT_TEXT},
    [FROM] = {"from", UNIT_NS},        [TO] = {"to", UNIT_NS},
};

/* ---- what ticks tell ---- */

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    struct findings *f = context;
    uint64_t held;

    if (metrics_get(&r->tree, METRIC_RESIDENT_HEAP, &held))
        f->held = (struct findings_held){true, held, f->before_ns, time_ns};
    f->before_ns = time_ns;
    resident_rest_hear(&f->rest, r, time_ns);
}

void findings_begin(struct findings *f, struct recorded *r)
{
    *f = (struct findings){.recorded = r};
    recorded_listen(r, on_tick, f);
    oom_begin(&f->oom, r);
}

void findings_again(struct findings *f)
{
    if (f->recorded->heap.any)
        findings_want_leaks(f);
}

/* ---- the list ---- */

void findings_add(struct findings *f, const struct finding *one)
{
    if (f->count < FINDINGS_MOST)
        f->list[f->count++] = *one;
}

void findings_at_line(const struct findings *f, struct finding *to, uint32_t line)
{
    const struct blame *b = &f->lines->blame;
    const char *code;

    to->file = b->files[b->lines[line].file].path;
    to->line = b->lines[line].line;
    code = table_source_line(answer_source(f->answer, to->file), to->line);
    to->code = code ? code + strspn(code, " \t") : NULL;
}

const char *findings_place(const struct findings *f, uint32_t line)
{
    const struct blame *b = &f->lines->blame;

    return arena_printf(f->answer->arena, "%s:%llu",
                        text_source(b->files[b->lines[line].file].path),
                        (unsigned long long)b->lines[line].line);
}

const char *findings_sure(const struct heap *h)
{
    return h->sampled || h->run->lacking.parts || h->run->lacking.events ? "likely" : "certain";
}

/* The line that pays for a stack, where lines are known; else its site. */
void findings_at_stack(const struct findings *f, struct finding *to, const struct heap_row *row)
{
    uint32_t line = f->lines && row->stack ? f->lines->holders.lines[row->stack] : 0;

    if (line >= SCOPE_KINDS) {
        findings_at_line(f, to, line);
        return;
    }
    to->file = row->site.file;
    to->line = row->site.line;
    to->function = row->site.function;
}

/* The largest site by a weight, as text. */
const char *findings_largest(struct findings *f, heap_weight *weight, struct finding *to)
{
    struct heap_rows rows;

    heap_rows_sites(&rows, &f->recorded->heap, weight, 1);
    if (!rows.count || !rows.rows[0].stack)
        return "unknown stacks";
    findings_at_stack(f, to, &rows.rows[0]);
    return table_site_text(f->answer->arena, &rows.rows[0].site);
}

/* Those of one severity stay in their order. */
static void order(struct findings *f)
{
    struct finding sorted[FINDINGS_MOST] = {0};
    int count = 0;

    for (int severity = FINDING_HIGH; severity >= FINDING_LOW; severity--)
        for (int i = 0; i < f->count; i++)
            if ((int)f->list[i].severity == severity)
                sorted[count++] = f->list[i];
    memcpy(f->list, sorted, (size_t)count * sizeof(*sorted));
    f->count = count;
}

void findings_read(struct findings *f, const struct line_sums *lines, struct answer *a)
{
    f->answer = a;
    f->lines = lines;
    findings_of_refused(f);
    if (f->recorded->heap.any)
        findings_of_memory(f);
    if (f->recorded->heap.any && !f->recorded->run.of_space) /* a device is not resident here, */
        findings_of_resident(f);
    if (lines && !f->recorded->run.of_space) /* and time is no device's */
        findings_of_time(f);
    if (f->recorded->heap.any)
        findings_of_records(f);
    order(f);
}

struct table *findings_table(const struct findings *f, struct answer *a, int most)
{
    struct table *t = answer_add(a, "findings", TABLE_FINDINGS, columns, COUNT(columns));

    for (int i = 0; i < f->count && i < most; i++) {
        const struct finding *one = &f->list[i];
        struct table_cell *c = table_add(a, t);

        cell_text(&c[WHAT], one->what ? one->what : one->evidence);
        cell_text(&c[LOOK_AT], one->look_at);
        cell_text(&c[KIND], one->kind);
        cell_number(&c[SEVERITY], one->severity);
        cell_text(&c[TITLE], one->title);
        cell_text(&c[EVIDENCE], one->evidence);
        cell_text(&c[ADVICE], one->advice);
        cell_text(&c[CONFIDENCE], one->confidence);
        cell_text(&c[FILE_NAME], one->file);
        if (one->line)
            cell_number(&c[LINE], one->line);
        cell_text(&c[CODE], one->code);
        cell_text(&c[FUNCTION], one->function);
        cell_text(&c[VIEW], one->view);
        cell_text(&c[MEASURE], one->measure);
        if (one->to_ns) {
            cell_number(&c[FROM], one->from_ns);
            cell_number(&c[TO], one->to_ns);
        }
    }
    return t;
}

static void put_text(struct emit *j, const char *key, const char *text)
{
    emit_key(j, key);
    emit_text(j, text);
}

static void put_number(struct emit *j, const char *key, bool known, uint64_t number)
{
    emit_key(j, key);
    if (known)
        emit_number(j, number);
    else
        emit_null(j);
}

void findings_emit(struct emit *j, void *findings)
{
    const struct findings *f = findings;

    emit_open(j, '[');
    for (int i = 0; i < f->count; i++) {
        const struct finding *one = &f->list[i];

        emit_open(j, '{');
        put_text(j, "kind", one->kind);
        put_number(j, "severity", true, one->severity);
        put_text(j, "title", one->title);
        put_text(j, "evidence", one->evidence);
        put_text(j, "advice", one->advice);
        put_text(j, "confidence", one->confidence);
        put_text(j, "file", one->file);
        put_number(j, "line", one->line, one->line);
        put_text(j, "code", one->code);
        put_text(j, "function", one->function);
        put_text(j, "view", one->view);
        put_text(j, "measure", one->measure);
        put_number(j, "from", one->to_ns, one->from_ns / 1000);
        put_number(j, "to", one->to_ns, one->to_ns / 1000);
        emit_close(j, '}');
    }
    emit_close(j, ']');
}
