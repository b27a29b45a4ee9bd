/* waits - where the threads waited, and for what: by line of the program, and by thread. */
#include "analyze/heap_pass.h"
#include "analyze/heap_rows.h"
#include "analyze/line_sums.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS 50

// clang-format off
#define CAUSES                                                                                     \
    {"sleep", UNIT_NS}, {"poll", UNIT_NS}, {"io", UNIT_NS}, {"lock", UNIT_NS}, {"gil", UNIT_NS},   \
    {"queue", UNIT_NS}, {"child", UNIT_NS}, {"other", UNIT_NS}
// clang-format on

static const struct table_column line_columns[] = {
    {"waiting", UNIT_NS},    {"percent", UNIT_PERCENT}, CAUSES,
    {"function", UNIT_TEXT}, {"file", UNIT_TEXT},       {"line", UNIT_ID},
    {"text", UNIT_TEXT},
};

static const struct table_column thread_columns[] = {
    {"waiting", UNIT_NS},  CAUSES,           {"cpu", UNIT_NS},       {"tid", UNIT_ID},
    {"thread", UNIT_TEXT}, {"pid", UNIT_ID}, {"process", UNIT_TEXT},
};
#define CAUSE_COUNT (CPU_TIME_CAUSES - 1)

/* A cause that was not known is among the others. */
static void fill_causes(struct table_cell *c, const struct cpu_sums *s)
{
    for (int i = 0; i < CAUSE_COUNT; i++)
        cell_number(&c[i], s->cause_ns[i + 1] + (i + 1 == TRACE_WAIT_OTHER ? s->cause_ns[0] : 0));
}

static void add_line(struct answer *a, struct table *t, const struct line_sums *s, uint32_t line)
{
    const struct blame_line *l = &s->blame.lines[line];
    const struct cpu_sums *cpu = &s->lines[line].cpu;
    struct table_cell *c = table_add(a, t);
    const char *text;

    cell_number(&c[0], cpu->wait_ns);
    heap_cell_percent(&c[1], (double)cpu->wait_ns, (double)s->sum.cpu.wait_ns);
    fill_causes(&c[2], cpu);
    c += 2 + CAUSE_COUNT;
    if (line < SCOPE_KINDS) {
        cell_text(&c[1], scope_text((enum scope_kind)line));
        return;
    }
    text = table_source_line(answer_source(a, s->blame.files[l->file].path), l->line);
    cell_text(&c[0], s->blame.functions[l->function].name);
    cell_text(&c[1], s->blame.files[l->file].path);
    cell_number(&c[2], l->line);
    cell_text(&c[3], text ? text + strspn(text, " \t") : NULL);
}

static void limit(struct table *t, uint64_t most, struct arena *a, const char *note)
{
    t->note = note;
    if ((uint64_t)t->rows <= most)
        return;
    t->note = arena_printf(a, "%d smaller ones are left out.%s%s", t->rows - (int)most,
                           note ? " " : "", note ? note : "");
    t->rows = (int)most;
}

/* ---- threads ---- */

static struct cpu_sums *sums_of_threads(const struct line_sums *s)
{
    struct cpu_sums *sums = memory_zeroed((s->heap.thread_count + 1) * sizeof(*sums));
    uint64_t place;

    for (size_t i = 0; i < s->time.count; i++)
        if (intmap_get(&s->heap.pass->threads, s->time.entries[i].thread, &place))
            cpu_sums_add(&sums[place - 1], &s->time.entries[i].sums);
    return sums;
}

static const struct run_process *process_of(const struct intmap *places, const struct run *r,
                                            uint64_t number)
{
    uint64_t place;

    return intmap_get(places, number, &place) ? r->processes[place] : NULL;
}

static void add_threads(struct answer *a, struct table *t, const struct line_sums *s)
{
    struct cpu_sums *sums = sums_of_threads(s);
    struct intmap places = {0};

    for (size_t i = 0; i < s->heap.run.process_count; i++)
        intmap_put(&places, s->heap.run.processes[i]->number, i);

    for (size_t i = 0; i < s->heap.thread_count; i++) {
        const struct heap_thread *thread = s->heap.threads[i];
        const struct run_process *p = process_of(&places, &s->heap.run, thread->process);
        struct table_cell *c;

        if (!sums[i].waits)
            continue;
        c = table_add(a, t);
        cell_number(&c[0], sums[i].wait_ns);
        fill_causes(&c[1], &sums[i]);
        c += 1 + CAUSE_COUNT;
        if (s->cpu_known)
            cell_number(&c[0], sums[i].ns);
        if (thread->tid)
            cell_number(&c[1], thread->tid);
        cell_text(&c[2], thread->name);
        if (p) {
            cell_number(&c[3], p->pid);
            cell_text(&c[4], p->name);
        }
    }
    table_sort(t, 0);
    intmap_free(&places);
    free(sums);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *lines = answer_add(a, "waits", TABLE_ROWS, line_columns, COUNT(line_columns));
    struct table *threads;
    uint64_t most = o->rows ? o->rows : ROWS;
    struct line_sums s;

    (void)err;
    line_sums_read(&s, a, t, o);
    if (s.waits_known) {
        for (uint32_t i = 0; i < s.blame.line_count; i++)
            if (s.lines[i].cpu.waits)
                add_line(a, lines, &s, i);
        table_sort(lines, 0);
        limit(
            lines, most, a->arena,
            "All threads together. How long is the scheduler's account; where is sampled, by a look "
            "about every 20 ms. gil: for the interpreter's own lock; queue: ready to run, but no "
            "CPU was free.");
        threads = answer_add(a, "threads", TABLE_ROWS, thread_columns, COUNT(thread_columns));
        add_threads(a, threads, &s);
        limit(threads, most, a->arena, NULL);
    } else {
        lines->note = "The trace holds no waits.";
    }
    line_sums_free(&s);
    return 0;
}

const struct question question_waits = {
    .name = "waits",
    .summary = "where the threads waited, and for what",
    .run = run,
};
