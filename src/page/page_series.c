/* page_series - parts of META: numbers over time, and all memory that is not what the page is of,
 * side by side. */
#include "page/page.h"
#include "page/page_json.h"

/* ---- series ---- */

static const char *unit_text(enum trace_unit unit)
{
    return unit == TRACE_UNIT_BYTES ? "bytes" : unit == TRACE_UNIT_NS ? "ns" : "count";
}

static const char *subject_text(enum trace_subject subject)
{
    return subject == TRACE_OF_RUN     ? "run"
         : subject == TRACE_OF_MACHINE ? "machine"
         : subject == TRACE_OF_DEVICE  ? "device"
                                       : "process";
}

static const char *device_label(const struct run *r, uint64_t number)
{
    for (size_t i = 0; i < r->device_count; i++)
        if (r->devices[i]->number == number)
            return r->devices[i]->label;
    return NULL;
}

static void put_points(struct emit *j, const struct series *s)
{
    uint64_t before = 0;

    emit_key(j, "t");
    emit_open(j, '[');
    for (size_t i = 0; i < s->count; i++) {
        emit_number(j, us(s->points[i].time_ns) - before);
        before = us(s->points[i].time_ns);
    }
    emit_close(j, ']');
    emit_key(j, "v");
    emit_open(j, '[');
    for (size_t i = 0; i < s->count; i++)
        emit_number(j, s->points[i].value);
    emit_close(j, ']');
}

static void put_one(struct emit *j, const struct run *r, const struct series *s)
{
    enum trace_unit unit = TRACE_UNIT_COUNT;
    const char *name = metrics_name(s->metric, &unit);

    emit_open(j, '{');
    put_text(j, "of", subject_text(s->subject));
    put_number(j, "id", s->id);
    if (s->subject == TRACE_OF_DEVICE)
        put_text(j, "label", device_label(r, s->id));
    put_text(j, "name", name);
    put_text(j, "unit", unit_text(unit));
    put_points(j, s);
    emit_close(j, '}');
}

void page_series(struct emit *j, const struct page *p)
{
    emit_key(j, "series");
    emit_open(j, '[');
    for (size_t i = 0; i < p->series.count; i++) {
        const struct series *s = &p->series.list[i];

        if (s->subject != TRACE_OF_PROCESS || s->id < PAGE_PROCESSES_MOST)
            put_one(j, &p->recorded->run, s);
    }
    emit_close(j, ']');
}

/* ---- spaces ---- */

static void put_space(struct emit *j, const struct page_space *s)
{
    emit_open(j, '{');
    put_text(j, "name", s->name);
    put_text(j, "kind", s->kind);
    put_bool(j, "shown", s->shown);
    put_known(j, "peak", s->any, s->peak);
    put_known(j, "time", s->any, us(s->peak_ns));
    put_known(j, "alive", s->any, s->live);
    put_known(j, "allocated", s->any, s->allocated);
    put_known(j, "allocations", s->any, s->blocks);
    emit_key(j, "hi");
    emit_open(j, '[');
    for (int i = 0; s->high && i < HEAP_EDGES_BINS; i++)
        emit_number(j, s->high[i]);
    emit_close(j, ']');
    emit_close(j, '}');
}

void page_spaces(struct emit *j, const struct page_words *w)
{
    emit_key(j, "spaces");
    emit_open(j, '[');
    for (size_t i = 0; i < w->space_count; i++)
        put_space(j, &w->spaces[i]);
    emit_close(j, ']');
}
