/* question_inefficient - memory that is held while nobody needs it, and by how much the peak would
 * fall without. */
#include "base/count.h"
#include "base/memory.h"
#include "model/waste.h"
#include "questions/access_answer.h"
#include "questions/heap_cells.h"
#include "questions/tensor_answer.h"

#include <stdlib.h>

#define ROWS 30
#define TRIED_MOST 256 /* groups whose new peak is looked for: those that hold most at the peak */

enum { FALL, PERCENT, PATTERN, BLOCKS, BYTES, AT_PEAK, OP, BEFORE, AFTER, SITE, BASIS, STACK };

static const struct table_column columns[] = {
    [FALL] = {"fall", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [PATTERN] = {"pattern", UNIT_TEXT},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [BYTES] = {"bytes", UNIT_BYTES}, /* of all of them */
    [AT_PEAK] = {"at_peak", UNIT_BYTES, .detail = true},
    [OP] = {"op", UNIT_TEXT}, /* that allocated it */
    [BEFORE] = {"used_before", UNIT_TEXT},
    [AFTER] = {"used_after", UNIT_TEXT},
    [SITE] = {"site", UNIT_TEXT},
    [BASIS] = {"basis", UNIT_TEXT},
    [STACK] = {"stack", UNIT_STACK},
};

struct group { /* of one pattern and stack */
    const struct waste *largest;
    uint64_t blocks, bytes, at_peak, fall;
    bool tried;
    size_t first; /* 1 + place of its first one in the list; `next` goes on */
};

struct asking {
    struct tensor_state tensors;
    struct access_state accesses;
    struct tensor_curve curve;
    struct wastes wastes;
    struct group *groups;
    size_t count, room;
    size_t *next; /* by place in the list of wastes: 1 + that of the next one of its group */
    uint64_t peak;
};

/* ---- groups ---- */

static struct group *group_of(struct asking *s, struct intmap *places, const struct waste *w)
{
    uint64_t stack = s->tensors.tensors.list[w->tensor].stack, at;
    uint64_t key = stack << 8 | (uint64_t)w->kind << 1 | w->by_uses;

    if (!intmap_get(places, key, &at)) {
        memory_fit(s->groups, s->room, s->count + 1);
        s->groups[s->count] = (struct group){.largest = w};
        intmap_put(places, key, at = s->count++);
    }
    memory_is_there(s->groups);
    return &s->groups[at];
}

/* All of the recording is judged; of a stretch of time, what is wasted in it is asked for. */
static bool is_asked_for(const struct asking *s, const struct waste *w)
{
    if (w->kind == WASTE_AGAIN)
        return w->from >= s->curve.from && w->from < s->curve.to;
    return w->from < s->curve.to && w->to > s->curve.from;
}

static void make_groups(struct asking *s)
{
    const struct tensor *list = s->tensors.tensors.list;
    struct intmap places = {0};

    s->next = memory_zeroed((s->wastes.count + 1) * sizeof(*s->next));
    for (size_t i = 0; i < s->wastes.count; i++) {
        const struct waste *w = &s->wastes.list[i];
        struct group *g;

        if (!is_asked_for(s, w))
            continue;
        g = group_of(s, &places, w);
        s->next[i] = g->first;
        g->first = i + 1;
        g->blocks++;
        g->bytes += list[w->tensor].bytes;
        if (w->from <= s->curve.peak_at && s->curve.peak_at < w->to)
            g->at_peak += list[w->tensor].bytes;
        if (list[w->tensor].bytes > list[g->largest->tensor].bytes)
            g->largest = w;
    }
    intmap_free(&places);
}

static int by_peak(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->at_peak != y->at_peak)
        return x->at_peak > y->at_peak ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_fall(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->fall != y->fall)
        return x->fall > y->fall ? -1 : 1;
    return by_peak(a, b);
}

/* What is not there at the peak does not lower it. */
static void try_group(struct asking *s, struct group *g)
{
    uint64_t peak = s->peak;

    for (size_t at = g->first; g->at_peak && at; at = s->next[at - 1]) {
        const struct waste *w = &s->wastes.list[at - 1];

        tensor_curve_try(&s->curve, w->from, w->to, s->tensors.tensors.list[w->tensor].bytes);
    }
    if (g->at_peak)
        peak = tensor_curve_peak(&s->curve, false);
    g->fall = s->peak > peak ? s->peak - peak : 0;
    g->tried = true;
}

/* ---- rows ---- */

static const char *basis_of(const struct waste *w)
{
    if (w->kind == WASTE_AGAIN)
        return "stacks: time, not memory";
    if (w->kind == WASTE_IDLE)
        return "accesses; at most: without what moving it takes";
    return w->by_uses ? "accesses" : "stacks";
}

static void put_row(struct asked *q, struct asking *s, struct table *t, const struct group *g)
{
    const struct names *names = &q->recorded->names;
    const struct tensor *x = &s->tensors.tensors.list[g->largest->tensor];
    struct table_frame site = frames_site(q->recorded->heap.frames, x->stack);
    struct table_cell *c = table_add(q->answer, t);

    if (g->tried) {
        cell_number(&c[FALL], g->fall);
        heap_cell_percent(&c[PERCENT], (double)g->fall, (double)s->peak);
    }
    cell_text(&c[PATTERN], waste_kind_text(g->largest->kind));
    cell_number(&c[BLOCKS], g->blocks);
    cell_number(&c[BYTES], g->bytes);
    cell_number(&c[AT_PEAK], g->at_peak);
    cell_text(&c[OP], x->from->op);
    cell_text(&c[BEFORE], names_get(names, g->largest->before));
    cell_text(&c[AFTER], names_get(names, g->largest->after));
    cell_text(&c[SITE], table_frame_text(q->answer->arena, &site));
    cell_text(&c[BASIS], basis_of(g->largest));
    cell_stack(&c[STACK], frames_shared(q->recorded->heap.frames, x->stack));
}

/* What nobody used is told in any case, and so is needless work. */
static bool is_told(const struct group *g)
{
    return !g->tried || g->fall || g->largest->kind == WASTE_UNUSED ||
           (g->largest->kind == WASTE_AGAIN && g->blocks > 1);
}

static void put_rows(struct asked *q, struct asking *s)
{
    struct table *t = answer_add(q->answer, "inefficient", TABLE_ROWS, columns, COUNT(columns));
    size_t left = q->options->rows ? q->options->rows : ROWS;

    for (size_t i = 0; i < s->count && left; i++)
        if (is_told(&s->groups[i])) {
            put_row(q, s, t, &s->groups[i]);
            left--;
        }
    if (!t->rows)
        t->note = access_judges(&s->accesses)
                    ? "As far as accesses show, nothing was held that nobody needed."
                    : "Stacks alone prove no waste.";
    else
        t->note = "Each by itself, all else unchanged.";
}

/* ---- facts ---- */

/* Blocks of which some of their life was wasted, but not at the peak. */
static uint64_t without_effect(const struct asking *s)
{
    uint64_t blocks = 0;

    for (size_t i = 0; i < s->count; i++)
        blocks += is_told(&s->groups[i]) ? 0 : s->groups[i].blocks;
    return blocks;
}

static void put_facts(struct asked *q, struct asking *s, struct table *facts)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct heap_amount peak = tensor_peak_at(h);
    const char *note = access_note(q, &s->accesses);

    if (s->accesses.told) /* as every question has it: that of the curve has the scatter of samples
                             in it */
        heap_cell_bytes(table_fact(a, facts, "peak", UNIT_BYTES), &peak);
    else
        cell_number(table_fact(a, facts, "tensors_peak", UNIT_BYTES), s->peak);
    cell_number(table_fact(a, facts, "time", UNIT_NS), s->curve.edges[s->curve.peak_at].time_ns);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT), heap_basis(h, &h->sums.allocated));
    if (s->accesses.told) {
        cell_number(table_fact(a, facts, "accesses", UNIT_COUNT), s->accesses.uses.told);
        cell_number(table_fact(a, facts, "accesses_elsewhere", UNIT_COUNT),
                    s->accesses.uses.missed);
    }
    cell_number(table_fact(a, facts, "without_effect", UNIT_COUNT), without_effect(s));
    if (note)
        facts->note = note;
}

/* ---- the question ---- */

static void begin(struct asked *q)
{
    access_begin(q, &((struct asking *)q->state)->accesses);
}

/* With accesses all blocks are judged: they are told of any. */
static void again(struct asked *q)
{
    struct asking *s = q->state;

    tensor_want(q, &s->tensors);
    tensor_peak_want(&q->recorded->heap);
    s->tensors.tensors.all = s->accesses.told;
    access_want(q, &s->accesses, &s->tensors.tensors);
}

static void answer_it(struct asked *q, struct asking *s, struct table *facts)
{
    struct tensors *t = &s->tensors.tensors;

    tensor_curve_start(&s->curve, t, q->options->finer.from_ns, q->options->finer.to_ns);
    s->peak = s->curve.peak;
    s->wastes = (struct wastes){.tensors = t,
                                .uses = access_uses(&s->accesses),
                                .curve = &s->curve,
                                .moments = &q->recorded->moments,
                                .of = tensors_by_process(t, q->answer->arena)};
    wastes_find(&s->wastes);
    make_groups(s);
    memory_sort(s->groups, s->count, sizeof(*s->groups), by_peak);
    for (size_t i = 0; i < s->count; i++)
        if (i < TRIED_MOST || !s->groups[i].at_peak)
            try_group(s, &s->groups[i]);
    memory_sort(s->groups, s->count, sizeof(*s->groups), by_fall);
    put_facts(q, s, facts);
    put_rows(q, s);
    wastes_free(&s->wastes);
    tensor_curve_free(&s->curve, t);
    free(s->groups);
    free(s->next);
}

static int run(struct asked *q, struct err *err)
{
    struct asking *s = q->state;
    struct table *facts = answer_facts(q->answer, "facts");

    (void)err;
    if (tensor_begin(q, &s->tensors, facts))
        answer_it(q, s, facts);
    uses_free(&s->accesses.uses);
    tensor_end(&s->tensors);
    return 0;
}

const struct question question_inefficient = {
    .name = "inefficient",
    .summary = "memory that is held while nobody needs it, by how much the peak would fall",
    .group = QUESTION_OF_TENSORS,
    .about =
        "inefficient needs to know who reads and writes memory, which a recording with --accesses tells of PyTorch's operators and OpenCL's kernels, and any program by tidemark_access or tidemark.torch.accesses: then it finds what is allocated early, freed late, kept over steps, idle at the peak or never used at all, of any block, also of a device's memory (--space). Without that it tells what stacks prove: gradients that are kept after the optimizer's step, and what is freed and allocated again at once. What would not lower the peak is counted as without effect.",
    .reads = RECORDED_HEAP | RECORDED_MOMENTS,
    .of_lives = true,
    .state = sizeof(struct asking),
    .begin = begin,
    .again = again,
    .run = run,
};
