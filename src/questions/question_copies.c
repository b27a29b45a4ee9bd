/* question_copies - the question `copies`: which lines copy memory. How much is sampled by bytes
 * where the recording was asked for it; the CPU time in memcpy and memmove is known from any CPU
 * samples.
 *
 * A copy belongs to the line that called memcpy, or to the line of Python that it was done for.
 */
#include "base/count.h"

#include "base/memory.h"
#include "questions/covered_answer.h"
#include "questions/question.h"

#include <stdlib.h>

#define ROWS 50

enum { BYTES, PERCENT, ERROR_PERCENT, PER_SECOND, SAMPLES, COPYING, SITE, STACK };

static const struct table_column columns[] = {
    [BYTES] = {"bytes", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT},
    [PER_SECOND] = {"per_second", UNIT_BYTES},
    [SAMPLES] = {"samples", UNIT_COUNT},
    [COPYING] = {"copying", UNIT_NS},
    [SITE] = {"site", UNIT_TEXT},
    [STACK] = {"stack", UNIT_STACK},
};

struct line {
    struct table_frame site;
    struct cpu_sums sums;
    uint64_t stack, best; /* the stack with most of it */
};

struct work {
    const struct cpu_time *time;
    const struct frames *frames;
    struct line *lines;
    size_t count, room;
    struct intmap places;
    bool known;      /* bytes were recorded */
    uint64_t ran_ns; /* the stretch that is asked about */
};

static struct line *line_of(struct work *w, uint64_t stack)
{
    struct table_frame site = frames_site(w->frames, stack);
    uint64_t key = stack ? frames_key(&site) : 0, place;

    if (intmap_get(&w->places, key, &place))
        return &w->lines[place];
    memory_fit(w->lines, w->room, w->count + 1);
    intmap_put(&w->places, key, w->count);
    w->lines[w->count] = (struct line){.site = site, .stack = stack};
    return &w->lines[w->count++];
}

/* A CPU sample stands in memcpy itself, a COPY at its call. */
static void add_entry(struct work *w, const struct cpu_entry *e)
{
    uint64_t stack = e->stack <= w->frames->stack_count ? e->stack : 0;
    uint64_t weight = w->known ? e->sums.copied : e->sums.in_copy_ns;
    struct line *l;

    if (!e->sums.copies && !e->sums.in_copy_ns)
        return;
    if (stack && !e->sums.copies)
        stack = w->frames->stacks[stack].parent;
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
        cell_number(&c[BYTES], l->sums.copied);
        if (w->time->sums.copied)
            cell_real(&c[PERCENT], (double)l->sums.copied / (double)w->time->sums.copied * 100);
        if (l->sums.copied)
            cell_real(&c[ERROR_PERCENT], cpu_sums_copied_error(&l->sums));
        rate(&c[PER_SECOND], w, l->sums.copied);
        cell_number(&c[SAMPLES], l->sums.copies);
    }
    if (w->time->sums.samples)
        cell_number(&c[COPYING], l->sums.in_copy_ns);
    cell_text(&c[SITE], l->stack ? table_frame_text(a->arena, &l->site) : "(stack not known)");
    cell_stack(&c[STACK], frames_shared(w->frames, l->stack));
}

static void put_facts(struct answer *a, struct table *t, const struct work *w)
{
    const struct cpu_sums *s = &w->time->sums;

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
    for (size_t i = 0; i < w->time->count; i++)
        add_entry(w, &w->time->entries[i]);
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

static uint64_t length_of(const struct trace *t, const struct selection *o)
{
    uint64_t last = trace_last_ns(t), to = o->to_ns && o->to_ns < last ? o->to_ns : last;

    return to > o->from_ns ? to - o->from_ns : 0;
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct table *facts = answer_facts(a, "facts");
    struct table *table = answer_add(a, "copies", TABLE_ROWS, columns, COUNT(columns));
    const struct cpu_time *time = &q->recorded->cpu;
    struct work w = {.time = time, .frames = &q->recorded->frames, .known = time->sums.copies};
    uint64_t rows = q->options->rows;

    (void)err;
    w.ran_ns = length_of(q->recorded->trace, q->options);
    covered_answer(a, recorded_whole(q->recorded));
    put_facts(a, facts, &w);
    if (w.known || time->sums.in_copy_ns)
        put_lines(a, table, &w, rows ? rows : ROWS);
    else
        table->note = "The trace holds no copies; 'tidemark record --copies' records them.";
    intmap_free(&w.places);
    free(w.lines);
    return 0;
}

const struct question question_copies = {
    .name = "copies",
    .summary = "which lines copy memory, how much, and the CPU time that it takes",
    .group = QUESTION_OF_COPIES,
    .more = "; how much is known only of recordings made with --copies",
    .reads = RECORDED_CPU | RECORDED_RUN_WHOLE,
    .run = run,
};
