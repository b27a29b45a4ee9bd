/* copy_lines - the question `copies`: which lines copy memory. How much is sampled by bytes where the
 * recording was asked for it; the CPU time in memcpy and memmove is known from any CPU samples.
 *
 * A copy belongs to the line that called memcpy, or to the line of Python that it was done for.
 */
#include "analyze/covered.h"
#include "analyze/cpu_read.h"

#include "base/memory.h"

#include <stdlib.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS 50

static const struct table_column fact_columns[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};

static const struct table_column columns[] = {
    {"bytes", UNIT_BYTES},      {"percent", UNIT_PERCENT}, {"error_percent", UNIT_PERCENT},
    {"per_second", UNIT_BYTES}, {"samples", UNIT_COUNT},   {"copying", UNIT_NS},
    {"site", UNIT_TEXT},        {"stack", UNIT_STACK},
};

struct line {
    struct table_frame site;
    struct cpu_sums sums;
    uint64_t stack, best; /* the stack with most of it */
};

struct work {
    struct cpu_time time;
    struct frames frames;
    struct run run;
    struct line *lines;
    size_t count, room;
    struct intmap places;
    bool known;      /* bytes were recorded */
    uint64_t ran_ns; /* the stretch that is asked about */
};

static struct line *line_of(struct work *w, uint64_t stack)
{
    struct table_frame site = frames_site(&w->frames, stack);
    uint64_t key = stack ? frames_key(&site) : 0, place;

    if (intmap_get(&w->places, key, &place))
        return &w->lines[place];
    if (w->count == w->room) {
        w->room = w->room ? w->room * 2 : 64;
        w->lines = memory_resize(w->lines, w->room * sizeof(*w->lines));
    }
    intmap_put(&w->places, key, w->count);
    w->lines[w->count] = (struct line){.site = site, .stack = stack};
    return &w->lines[w->count++];
}

/* A CPU sample stands in memcpy itself, a COPY at its call. */
static void add_entry(struct work *w, const struct cpu_entry *e)
{
    uint64_t stack = e->stack <= w->frames.stack_count ? e->stack : 0;
    uint64_t weight = w->known ? e->sums.copied : e->sums.in_copy_ns;
    struct line *l;

    if (!e->sums.copies && !e->sums.in_copy_ns)
        return;
    if (stack && !e->sums.copies)
        stack = w->frames.stacks[stack].parent;
    l = line_of(w, stack);
    cpu_sums_add(&l->sums, &e->sums);
    if (weight > l->best) {
        l->best = weight;
        l->stack = stack;
    }
}

static int by_bytes(const void *left, const void *right)
{
    const struct line *l = left, *r = right;

    if (l->sums.copied != r->sums.copied)
        return l->sums.copied < r->sums.copied ? 1 : -1;
    if (l->sums.in_copy_ns != r->sums.in_copy_ns)
        return l->sums.in_copy_ns < r->sums.in_copy_ns ? 1 : -1;
    return l->stack < r->stack ? -1 : l->stack > r->stack;
}

static void rate(struct table_cell *c, const struct work *w, uint64_t bytes)
{
    if (w->ran_ns)
        cell_rounded(c, (double)bytes * 1e9 / (double)w->ran_ns);
}

static void put_line(struct answer *a, struct table *t, const struct work *w, const struct line *l)
{
    struct table_cell *c = table_add(a, t);

    if (w->known) {
        cell_number(&c[0], l->sums.copied);
        if (w->time.sums.copied)
            cell_real(&c[1], (double)l->sums.copied / (double)w->time.sums.copied * 100);
        if (l->sums.copied)
            cell_real(&c[2], cpu_sums_copied_error(&l->sums));
        rate(&c[3], w, l->sums.copied);
        cell_number(&c[4], l->sums.copies);
    }
    if (w->time.sums.samples)
        cell_number(&c[5], l->sums.in_copy_ns);
    cell_text(&c[6], l->stack ? table_frame_text(a->arena, &l->site) : "(stack not known)");
    cell_stack(&c[7], frames_stack(&w->frames, a->arena, l->stack));
}

static void put_facts(struct answer *a, struct table *t, const struct work *w)
{
    const struct cpu_sums *s = &w->time.sums;

    if (w->known) {
        cell_number(table_fact(a, t, "copied", UNIT_BYTES), s->copied);
        cell_text(table_fact(a, t, "basis", UNIT_TEXT),
                  arena_printf(a->arena, "sampled, ±%.1f %%, %llu samples",
                               cpu_sums_copied_error(s), (unsigned long long)s->copies));
        rate(table_fact(a, t, "per_second", UNIT_BYTES), w, s->copied);
    }
    if (s->samples) {
        cell_number(table_fact(a, t, "copying", UNIT_NS), s->in_copy_ns);
        cell_text(table_fact(a, t, "copying_basis", UNIT_TEXT),
                  arena_printf(a->arena, "sampled, of %llu samples of CPU time",
                               (unsigned long long)s->samples));
        if (s->ns)
            cell_real(table_fact(a, t, "copying_percent", UNIT_PERCENT),
                      (double)s->in_copy_ns / (double)s->ns * 100);
    }
}

static void put_lines(struct answer *a, struct table *t, struct work *w, uint64_t most)
{
    for (size_t i = 0; i < w->time.count; i++)
        add_entry(w, &w->time.entries[i]);
    memory_sort(w->lines, w->count, sizeof(*w->lines), by_bytes);
    for (size_t i = 0; i < w->count && i < most; i++)
        put_line(a, t, w, &w->lines[i]);
    if (!w->known)
        t->note =
            "CPU time in memcpy and memmove; 'tidemark record --copies' records how much they "
            "copy.";
    else if (w->count > most)
        t->note = arena_printf(a->arena, "%zu lines in all.", w->count);
    else
        t->note =
            "Calls of memcpy and memmove: copies that the compiler or libc makes by itself are "
            "not among them.";
}

static void read_trace(struct work *w, struct trace *t, const struct question_options *o,
                       struct arena *arena)
{
    uint64_t last = trace_last_ns(t), to = o->to_ns && o->to_ns < last ? o->to_ns : last;

    cpu_read(&w->time, &w->frames, &w->run, t, o, arena);
    w->ran_ns = to > o->from_ns ? to - o->from_ns : 0;
    w->known = w->time.sums.copies != 0;
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *facts = answer_add(a, "facts", TABLE_FACTS, fact_columns, COUNT(fact_columns));
    struct table *table = answer_add(a, "copies", TABLE_ROWS, columns, COUNT(columns));
    struct work w = {0};

    (void)err;
    read_trace(&w, t, o, a->arena);
    covered_answer(a, &w.run);
    put_facts(a, facts, &w);
    if (w.known || w.time.sums.in_copy_ns)
        put_lines(a, table, &w, o->rows ? o->rows : ROWS);
    else
        table->note = "The trace holds no copies; 'tidemark record --copies' records them.";
    cpu_time_free(&w.time);
    intmap_free(&w.places);
    free(w.lines);
    frames_free(&w.frames);
    return 0;
}

const struct question question_copies = {
    .name = "copies",
    .summary = "which lines copy memory, how much, and the CPU time that it takes",
    .run = run,
};
