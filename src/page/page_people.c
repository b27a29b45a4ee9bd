/* page_people - the part of META on processes and threads, and on what the program says of itself.
 */
#include "page/page.h"
#include "page/page_json.h"

#include "model/process_tree.h"

#define REGIONS_MOST 5000u
#define MARKS_MOST 5000u
#define STEPS_MOST 20000u

/* ---- processes and threads ---- */

static const char *how_ended(uint64_t end)
{
    static const char *const texts[] = {
        [TRACE_END_UNKNOWN] = "unknown",   [TRACE_END_EXITED] = "exited",
        [TRACE_END_SIGNALED] = "signal",   [TRACE_END_EXECED] = "exec",
        [TRACE_END_OUTLIVED] = "outlived", [TRACE_END_OOM] = "oom",
    };

    return end <= TRACE_END_OOM ? texts[end] : "unknown";
}

/* Its first events may be earlier than the look that found it. */
static uint64_t began(const struct run_process *r, const struct heap_process *h)
{
    return h && h->from_ns < r->from_ns ? h->from_ns : r->from_ns;
}

static void put_process(struct emit *j, const struct run_process *r, const struct heap_process *h)
{
    uint64_t rss = 0, cpu = 0;
    bool rss_known = process_tree_peak(r, &rss), cpu_known = run_own(r, METRIC_CPU_NS, &cpu);

    emit_open(j, '{');
    put_number(j, "id", r->number);
    put_number(j, "pid", r->pid);
    put_place(j, "parent", r->parent && r->parent->place < PAGE_PROCESSES_MOST,
              r->parent ? r->parent->place : 0);
    put_known(j, "rank", r->ranks[RANK_RANK].known, r->ranks[RANK_RANK].number);
    put_text(j, "name", r->name);
    put_text(j, "command", r->command);
    put_number(j, "start", us(began(r, h)));
    put_known(j, "end", r->ended, us(r->to_ns));
    put_text(j, "how", r->ended ? how_ended(r->end) : NULL);
    put_known(j, "status", r->ended && r->end == TRACE_END_EXITED, r->status);
    put_known(j, "signal", r->ended && r->end == TRACE_END_SIGNALED, r->status);
    put_known(j, "rss", rss_known, rss);
    put_known(j, "cpu", cpu_known, us(cpu));
    put_known(j, "heap", h != NULL, h ? h->peak.bytes : 0);
    put_bool(j, "recorded", r->recorded);
    put_text(j, "unrecorded", r->unrecorded);
    emit_close(j, '}');
}

static void put_processes(struct emit *j, const struct page *p)
{
    const struct run *r = &p->recorded->run;

    emit_key(j, "processes");
    emit_open(j, '[');
    for (size_t i = 0; i < r->process_count && i < PAGE_PROCESSES_MOST; i++)
        put_process(j, r->processes[i],
                    p->recorded->heap.pass
                        ? heap_process_of(&p->recorded->heap, r->processes[i]->number)
                        : NULL);
    emit_close(j, ']');
}

static bool process_place(const struct intmap *places, uint64_t number, uint64_t *place)
{
    return intmap_get(places, number, place) && *place < PAGE_PROCESSES_MOST;
}

static void put_thread(struct emit *j, const struct page *p, const struct intmap *places,
                       const struct threads_thread *t)
{
    uint64_t place = 0;
    uint32_t line = t && t->creator ? blame_creator(&p->lines->blame, t->creator) : UINT32_MAX;
    /* not among the arguments below, which are evaluated in any order */
    bool known = t && process_place(places, t->process, &place);

    emit_open(j, '{');
    put_place(j, "process", known, place);
    put_known(j, "tid", t != NULL, t ? t->tid : 0);
    put_text(j, "name", t ? t->name : "(not known)");
    put_number(j, "start", t ? us(t->from_ns) : 0);
    put_known(j, "end", t && t->ended, t ? us(t->to_ns) : 0);
    put_number(j, "line", line < p->lines->blame.line_count ? p->line_places[line] : 0);
    emit_close(j, '}');
}

static void put_threads(struct emit *j, const struct page *p, const struct intmap *places)
{
    emit_key(j, "threads");
    emit_open(j, '[');
    for (uint32_t i = 0; i < p->thread_count; i++)
        put_thread(j, p, places, p->recorded->threads.list[i]);
    if (p->thread_unknown)
        put_thread(j, p, places, NULL);
    emit_close(j, ']');
}

/* ---- what the program says of itself ---- */

static void put_regions(struct emit *j, const struct page *p)
{
    const struct region_list *l = &p->recorded->regions;

    emit_key(j, "regions");
    emit_open(j, '[');
    for (size_t i = 0; i < l->count && i < REGIONS_MOST; i++) {
        const struct region_span *s = &l->spans[i];
        const struct threads_thread *t = threads_find(&p->recorded->threads, s->thread);

        emit_open(j, '{');
        put_text(j, "name", s->name);
        put_place(j, "thread", t && t->place < p->thread_count, t ? t->place : 0);
        put_number(j, "start", us(s->from_ns));
        put_number(j, "end", us(s->to_ns ? s->to_ns : p->edges.last_ns));
        put_place(j, "parent", s->parent && s->parent - 1 < REGIONS_MOST, s->parent - 1);
        emit_close(j, '}');
    }
    emit_close(j, ']');
}

static const char *sort_of(uint64_t kind)
{
    switch (kind) {
    case TRACE_MARK_STEP:
        return "step";
    case TRACE_MARK_SNAPSHOT:
        return "snapshot";
    default:
        return "mark";
    }
}

static void put_marks(struct emit *j, const struct page *p)
{
    const struct moments *m = &p->recorded->moments;
    const struct heap *h = &p->recorded->heap;
    size_t count = 0;

    emit_key(j, "marks");
    emit_open(j, '[');
    for (size_t i = 0; i < m->count && count < MARKS_MOST; i++) {
        const struct named_moment *one = &m->list[i];

        if (one->kind == TRACE_MARK_STEP)
            continue;
        count++;
        emit_open(j, '{');
        put_number(j, "time", us(one->time_ns));
        put_text(j, "sort", sort_of(one->kind));
        put_text(j, "name", one->name);
        put_number(j, "value", one->value);
        emit_close(j, '}');
    }
    for (size_t i = 0; h->pass && i < h->process_count && count < MARKS_MOST; i++)
        if (h->processes[i]->worked_ns) {
            count++;
            emit_open(j, '{');
            put_number(j, "time", us(h->processes[i]->worked_ns));
            put_text(j, "sort", "worked");
            put_text(j, "name", "the interpreter ends");
            emit_close(j, '}');
        }
    emit_close(j, ']');
}

static void put_steps(struct emit *j, const struct page *p, const struct intmap *places)
{
    const struct moments *m = &p->recorded->moments;
    size_t left = STEPS_MOST;

    emit_key(j, "steps");
    emit_open(j, '[');
    for (size_t i = 0; i < m->loop_count; i++) {
        const struct moments_loop *l = &m->loops[i];
        uint64_t before = 0, place = 0;
        bool known;

        if (l->count > left)
            break;
        left -= l->count;
        emit_open(j, '{');
        put_text(j, "name", l->name);
        known = process_place(places, l->process, &place);
        put_place(j, "process", known, place);
        put_number(j, "began", us(l->began_ns));
        emit_key(j, "ends");
        emit_open(j, '[');
        for (size_t k = 0; k < l->count; k++) {
            emit_number(j, us(l->steps[k]->time_ns) - before);
            before = us(l->steps[k]->time_ns);
        }
        emit_close(j, ']');
        emit_close(j, '}');
    }
    emit_close(j, ']');
}

static void put_labels(struct emit *j, const struct heap_labels *l)
{
    emit_key(j, "labels");
    emit_open(j, '[');
    for (unsigned int i = 0; i <= l->count; i++) {
        emit_open(j, '{');
        for (unsigned int k = 0; k < l->sets[i].count; k++)
            put_text(j, l->sets[i].pairs[k].key, l->sets[i].pairs[k].value);
        emit_close(j, '}');
    }
    emit_close(j, ']');
}

void page_people(struct emit *j, const struct page *p)
{
    const struct run *r = &p->recorded->run;
    struct intmap places = {0};

    for (size_t i = 0; i < r->process_count; i++)
        intmap_put(&places, r->processes[i]->number, i);
    put_processes(j, p);
    put_threads(j, p, &places);
    put_regions(j, p);
    put_marks(j, p);
    put_steps(j, p, &places);
    put_labels(j, &p->labels);
    intmap_free(&places);
}
