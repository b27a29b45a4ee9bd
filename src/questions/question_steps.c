/* question_steps - the steps of a program and the moments that it has named: how long each took,
 * what memory did meanwhile, and which stacks hold more after every step.
 */
#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"
#include "questions/heap_cells.h"
#include "questions/steps_answer.h"

#include <math.h>
#include <string.h>

enum {
    LOOP_LOOP,
    LOOP_PID,
    LOOP_RANK,
    LOOP_STEPS,
    LOOP_FOUND_BY,
    LOOP_TOTAL,
    LOOP_MEAN,
    LOOP_LONGEST,
    LOOP_GROWTH_PER_STEP,
    LOOP_TREND,
    LOOP_ALLOCATED,
    LOOP_HEAP_CHANGE,
    LOOP_HEAP_MOST,
    LOOP_RSS_CHANGE,
    LOOP_RSS_MOST,
};

static const struct table_column loop_columns[] = {
    [LOOP_LOOP] = {"loop", UNIT_TEXT},
    [LOOP_PID] = {"pid", UNIT_ID},
    [LOOP_RANK] = {"rank", UNIT_ID, .detail = true},
    [LOOP_STEPS] = {"steps", UNIT_COUNT},
    [LOOP_FOUND_BY] = {"found_by", UNIT_TEXT, .detail = true},
    [LOOP_TOTAL] = {"total", UNIT_NS},
    [LOOP_MEAN] = {"mean", UNIT_NS},
    [LOOP_LONGEST] = {"longest", UNIT_NS},
    [LOOP_GROWTH_PER_STEP] = {"growth_per_step", UNIT_CHANGE},
    [LOOP_TREND] = {"trend", UNIT_TEXT},
    [LOOP_ALLOCATED] = {"allocated", UNIT_BYTES},
    [LOOP_HEAP_CHANGE] = {"heap_change", UNIT_CHANGE},
    [LOOP_HEAP_MOST] = {"heap_most", UNIT_BYTES},
    [LOOP_RSS_CHANGE] = {"rss_change", UNIT_CHANGE},
    [LOOP_RSS_MOST] = {"rss_most", UNIT_BYTES},
};

enum {
    STEP_LOOP,
    STEP_STEP,
    STEP_PID,
    STEP_RANK,
    STEP_FROM,
    STEP_LENGTH,
    STEP_ALLOCATED,
    STEP_FREED,
    STEP_HEAP_CHANGE,
    STEP_HEAP_CHANGE_ERROR,
    STEP_HEAP_AFTER,
    STEP_HEAP_LEAST,
    STEP_HEAP_MOST,
    STEP_HEAP_MOST_TIME,
    STEP_RSS_CHANGE,
    STEP_RSS_MOST,
};

static const struct table_column step_columns[] = {
    [STEP_LOOP] = {"loop", UNIT_TEXT},
    [STEP_STEP] = {"step", UNIT_ID},
    [STEP_PID] = {"pid", UNIT_ID, .detail = true},
    [STEP_RANK] = {"rank", UNIT_ID, .detail = true},
    [STEP_FROM] = {"from", UNIT_NS},
    [STEP_LENGTH] = {"length", UNIT_NS},
    [STEP_ALLOCATED] = {"allocated", UNIT_BYTES},
    [STEP_FREED] = {"freed", UNIT_BYTES},
    [STEP_HEAP_CHANGE] = {"heap_change", UNIT_CHANGE},
    [STEP_HEAP_CHANGE_ERROR] = {"heap_change_error", UNIT_BYTES},
    [STEP_HEAP_AFTER] = {"heap_after", UNIT_BYTES},
    [STEP_HEAP_LEAST] = {"heap_least", UNIT_BYTES},
    [STEP_HEAP_MOST] = {"heap_most", UNIT_BYTES},
    [STEP_HEAP_MOST_TIME] = {"heap_most_time", UNIT_NS, .detail = true},
    [STEP_RSS_CHANGE] = {"rss_change", UNIT_CHANGE, .detail = true},
    [STEP_RSS_MOST] = {"rss_most", UNIT_BYTES, .detail = true},
};

const char *const steps_trends[] = {"steady", "grew once", "unclear", "growing"};

struct step { /* with what is known of it */
    const struct moments_loop *loop;
    const struct named_moment *end;
    uint64_t from_ns;
    bool heap_known;
    struct step_sums sums;
};

bool steps_asked_for(const struct selection *o, uint64_t from_ns, uint64_t to_ns)
{
    return from_ns >= o->from_ns && (!o->to_ns || to_ns <= o->to_ns + 1);
}

void steps_change(struct table_cell *c, double change)
{
    cell_change(c, change < 0 ? text_rounded(-change) : 0, change > 0 ? text_rounded(change) : 0);
}

static void put_rss(struct table_cell *change, struct table_cell *most, const struct recorded *r,
                    uint64_t from_ns, uint64_t to_ns)
{
    struct region_rss rss;

    if (!region_rss(&r->regions, from_ns, to_ns, &rss))
        return;
    cell_change(change, rss.before, rss.after);
    cell_number(most, rss.most);
}

/* ---- steps ---- */

static struct step step_at(const struct steps_answer *w, const struct moments_loop *l, size_t i)
{
    struct step s = {.loop = l, .end = l->steps[i], .from_ns = moments_from(l, i)};

    s.heap_known = step_heap_between(&w->state->heap, l->process, i ? s.from_ns : 0, s.end->time_ns,
                                     &s.sums);
    return s;
}

static void put_step(const struct steps_answer *w, struct table_cell *c, const struct step *s)
{
    cell_text(&c[STEP_LOOP], s->loop->name);
    cell_number(&c[STEP_STEP], s->end->value);
    steps_pid(&c[STEP_PID], &c[STEP_RANK], w, s->loop->process);
    cell_number(&c[STEP_FROM], s->from_ns);
    cell_number(&c[STEP_LENGTH], s->end->time_ns - s->from_ns);
    put_rss(&c[STEP_RSS_CHANGE], &c[STEP_RSS_MOST], w->recorded, s->from_ns, s->end->time_ns);
    if (!s->heap_known)
        return;
    heap_cell_bytes(&c[STEP_ALLOCATED], &s->sums.allocated);
    heap_cell_bytes(&c[STEP_FREED], &s->sums.freed);
    cell_change(&c[STEP_HEAP_CHANGE], s->sums.freed.bytes, s->sums.allocated.bytes);
    if (s->sums.change_variance > 0)
        cell_rounded(&c[STEP_HEAP_CHANGE_ERROR], sqrt(s->sums.change_variance));
    heap_cell_bytes(&c[STEP_HEAP_AFTER], &s->sums.after);
    cell_number(&c[STEP_HEAP_LEAST], s->sums.least);
    cell_number(&c[STEP_HEAP_MOST], s->sums.most);
    cell_number(&c[STEP_HEAP_MOST_TIME], s->sums.most_ns);
}

static uint64_t change_of(const struct step *s)
{
    uint64_t up = s->sums.allocated.bytes, down = s->sums.freed.bytes;

    return up > down ? up - down : down - up;
}

/* What changed the heap most; without one, the longest. */
static int by_change(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    uint64_t mine = change_of(x), other = change_of(y);

    if (mine == other) {
        mine = x->end->time_ns - x->from_ns;
        other = y->end->time_ns - y->from_ns;
    }
    if (mine != other)
        return mine > other ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static int by_time(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    if (x->end->time_ns != y->end->time_ns)
        return x->end->time_ns < y->end->time_ns ? -1 : 1;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static size_t all_steps(const struct steps_answer *w, struct step **out)
{
    const struct moments *m = &w->recorded->moments;
    size_t count = 0;

    *out = arena_alloc(w->answer->arena, (m->count + 1) * sizeof(**out));
    for (size_t i = 0; i < m->loop_count; i++)
        for (size_t k = 0; k < m->loops[i].count; k++)
            if (steps_asked_for(w->options, moments_from(&m->loops[i], k),
                                m->loops[i].steps[k]->time_ns))
                (*out)[count++] = step_at(w, &m->loops[i], k);
    return count;
}

static void put_steps(const struct steps_answer *w, struct table *t)
{
    uint64_t most = w->options->rows ? w->options->rows : STEPS_ROWS;
    struct step *steps;
    size_t count = all_steps(w, &steps), shown = most < count ? (size_t)most : count;

    memory_sort(steps, count, sizeof(*steps), by_change);
    memory_sort(steps, shown, sizeof(*steps), by_time);
    for (size_t i = 0; i < shown; i++)
        put_step(w, table_add(w->answer, t), &steps[i]);
    if (shown < count)
        t->note = arena_printf(w->answer->arena, "The %zu of %zu that changed the heap most.",
                               shown, count);
}

/* ---- loops ---- */

struct sum {
    uint64_t count, total_ns, longest_ns, allocated, freed, most, from_ns, to_ns;
    bool heap_known;
};

static void add_step(struct sum *sum, const struct step *s)
{
    uint64_t length = s->end->time_ns - s->from_ns;

    if (!sum->count++)
        sum->from_ns = s->from_ns;
    sum->to_ns = s->end->time_ns;
    sum->total_ns += length;
    sum->longest_ns = length > sum->longest_ns ? length : sum->longest_ns;
    sum->heap_known |= s->heap_known;
    sum->allocated += s->sums.allocated.bytes;
    sum->freed += s->sums.freed.bytes;
    sum->most = s->sums.most > sum->most ? s->sums.most : sum->most;
}

/* Its growth from the end of the first step on, in windows and outside: what lives is known
 * everywhere. */
static void put_growth(const struct steps_answer *w, struct table_cell *c,
                       const struct moments_loop *l)
{
    struct moments_loop all = *l;
    struct step_points points;
    struct step_verdict v;
    double y[STEP_GROWTH_POINTS];

    all.stacked_first = 0;
    all.stacked_count = l->count;
    step_growth_points(&points, &all);
    for (unsigned int i = 0; i < points.count; i++) {
        struct step s = step_at(w, l, points.steps[i]);

        y[i] = (double)s.sums.after.bytes;
    }
    step_growth_judge(&points, y, &v);
    if (points.count < 2)
        return;
    steps_change(&c[LOOP_GROWTH_PER_STEP], v.per_step);
    cell_text(&c[LOOP_TREND], steps_trends[v.trend]);
}

static void put_loop(const struct steps_answer *w, struct table *t, const struct moments_loop *l)
{
    struct sum sum = {0};
    struct table_cell *c;

    for (size_t i = 0; i < l->count; i++) {
        struct step s = step_at(w, l, i);

        if (steps_asked_for(w->options, s.from_ns, s.end->time_ns))
            add_step(&sum, &s);
    }
    if (!sum.count)
        return;
    c = table_add(w->answer, t);
    cell_text(&c[LOOP_LOOP], l->name);
    steps_pid(&c[LOOP_PID], &c[LOOP_RANK], w, l->process);
    cell_number(&c[LOOP_STEPS], sum.count);
    cell_text(&c[LOOP_FOUND_BY], step_how_text(l->how));
    cell_number(&c[LOOP_TOTAL], sum.total_ns);
    cell_number(&c[LOOP_MEAN], sum.total_ns / sum.count);
    cell_number(&c[LOOP_LONGEST], sum.longest_ns);
    put_rss(&c[LOOP_RSS_CHANGE], &c[LOOP_RSS_MOST], w->recorded, sum.from_ns, sum.to_ns);
    if (!sum.heap_known)
        return;
    cell_number(&c[LOOP_ALLOCATED], sum.allocated);
    cell_change(&c[LOOP_HEAP_CHANGE], sum.freed, sum.allocated);
    cell_number(&c[LOOP_HEAP_MOST], sum.most);
    put_growth(w, c, l);
}

static int by_steps(const void *a, const void *b)
{
    const struct moments_loop *x = *(struct moments_loop *const *)a;
    const struct moments_loop *y = *(struct moments_loop *const *)b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* How steps are known that no program has told. */
static const char *found_note(const struct moments *m, struct arena *a)
{
    const struct moments_loop *l = m->loops;

    return l->how == STEP_TOLD
             ? ""
             : arena_printf(a, " No program reports steps: these were found by %s.",
                            step_how_text(l->how));
}

static const char *loops_note(const struct steps_answer *w, size_t left)
{
    const struct heap *h = &w->recorded->heap;
    struct arena *a = w->answer->arena;
    const char *more = left ? arena_printf(a, " %zu with fewer steps are left out.", left) : "";

    if (!w->recorded->moments.loop_count)
        return "The program reported no steps: see include/tidemark.h, or the Python package "
               "tidemark.";
    if (!h->any)
        return left ? more + 1 : NULL;
    return arena_printf(a, "The heap is that of the loop's own process, %s.%s%s",
                        heap_basis(h, &h->sums.allocated), found_note(&w->recorded->moments, a),
                        more);
}

static void put_loops(const struct steps_answer *w, struct table *t)
{
    const struct moments *m = &w->recorded->moments;
    struct moments_loop **loops = arena_alloc(w->answer->arena,
                                              (m->loop_count + 1) * sizeof(struct moments_loop *));
    uint64_t most = w->options->rows ? w->options->rows : STEPS_ROWS;
    size_t shown = most < m->loop_count ? (size_t)most : m->loop_count;

    for (size_t i = 0; i < m->loop_count; i++)
        loops[i] = &m->loops[i];
    memory_sort(loops, m->loop_count, sizeof(struct moments_loop *), by_steps);
    for (size_t i = 0; i < shown; i++)
        put_loop(w, t, loops[i]);
    t->note = loops_note(w, m->loop_count - shown);
}

/* ---- the question ---- */

static void again(struct asked *q)
{
    struct steps_state *s = q->state;
    struct recorded *r = q->recorded;

    if (!r->heap.any)
        return;
    step_heap_want(&s->heap, &r->heap, &r->moments);
    step_growth_want(&s->growth, &r->heap, &r->moments);
}

/* Where there are ranks, they are no detail. */
static struct table *add_loops(struct asked *q)
{
    struct table_column *columns = arena_alloc(q->answer->arena, sizeof(loop_columns));

    memcpy(columns, loop_columns, sizeof(loop_columns));
    columns[LOOP_RANK].detail = !q->recorded->run.ranked;
    return answer_add(q->answer, "loops", TABLE_ROWS, columns, COUNT(loop_columns));
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct steps_answer w = {a, q->recorded, q->state, q->options, {0}};
    struct table *loops = add_loops(q);

    (void)err;
    if (heap_begin(&q->recorded->heap, a, loops)) {
        step_heap_end(&w.state->heap);
        step_growth_end(&w.state->growth);
    }
    steps_read_processes(&w);
    put_loops(&w, loops);
    steps_put_growth(&w);
    put_steps(&w, answer_add(a, "steps", TABLE_ROWS, step_columns, COUNT(step_columns)));
    steps_put_marks(&w);
    intmap_free(&w.processes);
    step_heap_free(&w.state->heap);
    step_growth_free(&w.state->growth);
    return 0;
}

const struct question question_steps = {
    .name = "steps",
    .summary = "steps and named moments: time, memory, and what grows from step to step",
    .group = QUESTION_OF_PROGRAM,
    .about =
        "A step goes from the end of the one before it to where the program says that it has ended; "
        "the first contains everything up to its end. Where a deep-learning program says nothing, its steps are found (found_by). Growth is judged from the end of the first step on: "
        "growth_per_step is the median slope of what was held at the ends of steps. Growing: it still "
        "grows in the second half of them, at least half as fast as in the first, and gives back a "
        "tenth at most. Grew once: it did not grow any more in the second half, like a full cache. Steady: what came also went. "
        "Unclear: none of these, or fewer than six steps.",
    .reads = RECORDED_HEAP | RECORDED_REGIONS | RECORDED_MOMENTS,
    .state = sizeof(struct steps_state),
    .again = again,
    .run = run,
};
