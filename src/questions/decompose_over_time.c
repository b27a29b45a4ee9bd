/* decompose_over_time - see decompose_over_time.h. */
#include "questions/decompose_over_time.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "questions/steps_answer.h"

#include <stdlib.h>

#define MOMENTS 60
#define MOMENTS_OF_MODULES 8
#define MODULES 12
#define SHOWN 4 /* kinds that a narrow terminal shows */

/* ---- moments ---- */

void over_time_begin(struct asked *q, struct over_time *o)
{
    const struct selection_finer *asked = &q->options->finer;

    heap_edges_start(&o->edges, &q->recorded->heap, trace_last_ns(q->recorded->trace),
                     asked->from_ns, asked->to_ns);
    recorded_take_first(q->recorded, heap_edges_record, &o->edges);
}

static size_t rows_asked(const struct selection *s)
{
    uint64_t rows = s->rows ? s->rows : s->by == SELECTION_BY_MODULE ? MOMENTS_OF_MODULES : MOMENTS;

    return rows < TENSOR_COURSE_MOST ? (size_t)rows : TENSOR_COURSE_MOST;
}

/* The loop with the most steps; NULL: there is none. */
static const struct moments_loop *main_loop(const struct moments *m)
{
    const struct moments_loop *best = NULL;

    for (size_t i = 0; i < m->loop_count; i++)
        best = !best || m->loops[i].count > best->count ? &m->loops[i] : best;
    return best;
}

/* The highest moment of steps first .. last - 1, and which of them it is in. */
static void add_steps(struct over_time *o, size_t first, size_t last)
{
    const struct moments_loop *l = o->loop;
    uint64_t at_ns = tensor_course_highest(&o->edges, moments_from(l, first),
                                           l->steps[last - 1]->time_ns - 1);

    while (first + 1 < last && l->steps[first]->time_ns <= at_ns)
        first++;
    o->steps[o->course.count] = l->steps[first]->value;
    o->course.times[o->course.count++] = at_ns;
}

static bool is_asked_for(const struct selection *s, const struct moments_loop *l, size_t i)
{
    const struct selection stretch = {.from_ns = s->finer.from_ns, .to_ns = s->finer.to_ns};

    return steps_asked_for(&stretch, moments_from(l, i), l->steps[i]->time_ns);
}

static void choose_steps(struct over_time *o, const struct selection *s, size_t rows)
{
    const struct moments_loop *l = o->loop;
    size_t first = 0, last = l->count;

    while (first < last && !is_asked_for(s, l, first))
        first++;
    while (last > first && !is_asked_for(s, l, last - 1))
        last--;
    o->each = (last - first + rows - 1) / rows;
    for (size_t i = first; i < last; i += o->each)
        add_steps(o, i, last - i < o->each ? last : i + o->each);
}

void over_time_again(struct asked *q, struct over_time *o, struct tensor_state *s)
{
    size_t rows = rows_asked(q->options);

    heap_edges_end(&o->edges);
    if (!q->recorded->heap.any)
        return;
    o->loop = q->options->per_step ? main_loop(&q->recorded->moments) : NULL;
    if (o->loop)
        choose_steps(o, q->options, rows);
    else if (o->edges.any)
        tensor_course_stretches(&o->course, &o->edges, rows);
    tensor_course_want(&o->course, &q->recorded->heap, s);
}

/* ---- by kind ---- */

enum { TIME, STEP };

struct kinds_table { /* columns: the time, of steps their number, the heap, and the kinds */
    struct table *table;
    int heap; /* the column */
};

/* What the largest are at any time; text shows these where there is little room. */
static void find_large(const struct tensor_course *c, bool large[TENSOR_PARTS_KINDS])
{
    uint64_t most[TENSOR_PARTS_KINDS] = {0}, of[TENSOR_PARTS_KINDS];

    for (size_t i = 0; i < c->count; i++) {
        tensor_course_at(c, i, of);
        for (int k = 0; k < TENSOR_PARTS_KINDS; k++)
            most[k] = of[k] > most[k] ? of[k] : most[k];
    }
    for (int n = 0; n < SHOWN; n++) {
        int best = -1;

        for (int k = 0; k < TENSOR_PARTS_KINDS; k++)
            if (!large[k] && most[k] && (best < 0 || most[k] > most[best]))
                best = k;
        if (best >= 0)
            large[best] = true;
    }
}

/* "optimizer state" -> "optimizer_state" */
static const char *column_name(struct arena *a, int kind)
{
    char *name = arena_printf(a, "%s", tensor_parts_text(kind));

    for (char *c = name; *c; c++)
        *c = *c == ' ' ? '_' : *c;
    return name;
}

static struct kinds_table add_table(struct asked *q, const struct over_time *o)
{
    struct answer *a = q->answer;
    struct table_column *columns = arena_alloc(a->arena,
                                               (3 + TENSOR_PARTS_KINDS) * sizeof(*columns));
    bool large[TENSOR_PARTS_KINDS] = {false};
    int width = 0, heap;

    find_large(&o->course, large);
    columns[width++] = (struct table_column){"time", UNIT_NS, false};
    if (o->loop)
        columns[width++] = (struct table_column){"step", UNIT_ID, false};
    heap = width;
    columns[width++] = (struct table_column){"heap", UNIT_BYTES, false};
    for (int i = 0; i < TENSOR_PARTS_KINDS; i++) {
        int kind = tensor_parts_order[i];

        columns[width++] = (struct table_column){column_name(a->arena, kind), UNIT_BYTES,
                                                 !large[kind]};
    }
    return (struct kinds_table){
        answer_add(a, "over_time", o->loop ? TABLE_ROWS : TABLE_TIMELINE, columns, width), heap};
}

static void put_kinds(struct asked *q, const struct over_time *o)
{
    struct kinds_table t = add_table(q, o);

    for (size_t i = 0; i < o->course.count; i++) {
        struct table_cell *c = table_add(q->answer, t.table);
        uint64_t of[TENSOR_PARTS_KINDS];

        cell_number(&c[TIME], o->course.times[i]);
        if (o->loop)
            cell_number(&c[STEP], o->steps[i]);
        cell_number(&c[t.heap], tensor_course_at(&o->course, i, of));
        for (int k = 0; k < TENSOR_PARTS_KINDS; k++)
            cell_number(&c[t.heap + 1 + k], of[tensor_parts_order[k]]);
    }
    if (o->loop && o->each > 1)
        t.table->note = arena_printf(
            q->answer->arena, "Each row is the one of %zu steps with the largest heap.", o->each);
    else if (!o->loop && q->options->per_step)
        t.table->note = "The recording has no steps: moments are those of equal stretches.";
}

/* ---- by module ---- */

enum { MODULE_TIME, MODULE_STEP, MODULE_BYTES, MODULE_KIND, MODULE_MODULE };

static const struct table_column module_columns[] = {
    [MODULE_TIME] = {"time", UNIT_NS},       [MODULE_STEP] = {"step", UNIT_ID},
    [MODULE_BYTES] = {"bytes", UNIT_BYTES},  [MODULE_KIND] = {"kind", UNIT_TEXT},
    [MODULE_MODULE] = {"module", UNIT_TEXT},
};

struct holder { /* one kind of tensors of a module, or of none */
    const char *module;
    int kind;
    uint64_t *bytes; /* by moment */
    uint64_t most;
};

struct holding {
    const struct tensor_course *course;
    struct holder *list;
    size_t count, room;
    struct intmap places;
};

static struct holder *holder_of(struct holding *h, const char *module, int kind)
{
    uint64_t key = hash_mix(hash_mix(1, (uint64_t)kind), (uintptr_t)module), place;

    if (!intmap_get(&h->places, key, &place)) {
        memory_fit(h->list, h->room, h->count + 1);
        place = h->count++;
        h->list[place] = (struct holder){
            module, kind, memory_zeroed((h->course->count + 1) * sizeof(uint64_t)), 0};
        intmap_put(&h->places, key, place);
    }
    return &h->list[place];
}

static void hold_tensors(struct holding *h)
{
    const struct tensors *t = &h->course->tensors->tensors;

    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *x = &t->list[i];
        struct holder *to = holder_of(h, x->name ? x->name : x->from->modules,
                                      tensor_parts_kind(x));
        size_t first, last;

        if (to->kind == TENSOR_PARTS_OUTSIDE)
            continue;
        tensor_course_life(h->course, x, &first, &last);
        to->bytes[first] += x->bytes;
        to->bytes[last] -= x->bytes;
    }
}

static void hold_rest(struct holding *h)
{
    for (int kind = TENSOR_KINDS; kind < TENSOR_PARTS_KINDS; kind++) {
        struct holder *to = holder_of(h, NULL, kind);

        for (size_t i = 0; i < h->course->count; i++) {
            uint64_t of[TENSOR_PARTS_KINDS];

            tensor_course_at(h->course, i, of);
            to->bytes[i] = of[kind];
        }
    }
}

static int by_most(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;

    return x->most < y->most ? 1 : x->most > y->most ? -1 : x->kind - y->kind;
}

/* Differences become sums; the largest come first. */
static void settle(struct holding *h)
{
    for (size_t n = 0; n < h->count; n++) {
        struct holder *of = &h->list[n];

        for (size_t i = 0; i < h->course->count; i++) {
            of->bytes[i] += i && of->kind < TENSOR_KINDS ? of->bytes[i - 1] : 0;
            of->most = of->bytes[i] > of->most ? of->bytes[i] : of->most;
        }
    }
    memory_sort(h->list, h->count, sizeof(*h->list), by_most);
}

static void put_holder(struct asked *q, const struct over_time *o, struct table *t, size_t moment,
                       uint64_t bytes, const char *kind, const char *module)
{
    struct table_cell *c;

    if (!bytes)
        return;
    c = table_add(q->answer, t);
    cell_number(&c[MODULE_TIME], o->course.times[moment]);
    if (o->loop)
        cell_number(&c[MODULE_STEP], o->steps[moment]);
    cell_number(&c[MODULE_BYTES], bytes);
    cell_text(&c[MODULE_KIND], kind);
    cell_text(&c[MODULE_MODULE], module);
}

static void put_moment(struct asked *q, const struct over_time *o, struct table *t,
                       const struct holding *h, size_t moment)
{
    uint64_t rest = 0;

    for (size_t n = 0; n < h->count; n++) {
        const struct holder *of = &h->list[n];

        if (n < MODULES)
            put_holder(q, o, t, moment, of->bytes[moment], tensor_parts_text(of->kind), of->module);
        else
            rest += of->bytes[moment];
    }
    put_holder(q, o, t, moment, rest, NULL, "(smaller ones)");
}

static void put_modules(struct asked *q, const struct over_time *o)
{
    struct table *t = answer_add(q->answer, "modules_over_time", TABLE_ROWS, module_columns,
                                 COUNT(module_columns));
    struct holding h = {.course = &o->course};

    hold_tensors(&h);
    hold_rest(&h);
    settle(&h);
    for (size_t i = 0; i < o->course.count; i++)
        put_moment(q, o, t, &h, i);
    for (size_t i = 0; i < h.count; i++)
        free(h.list[i].bytes);
    free(h.list);
    intmap_free(&h.places);
}

void over_time_put(struct asked *q, struct over_time *o)
{
    tensor_course_end(&o->course);
    put_kinds(q, o);
    if (q->options->by == SELECTION_BY_MODULE)
        put_modules(q, o);
}

void over_time_free(struct over_time *o)
{
    tensor_course_free(&o->course);
}
