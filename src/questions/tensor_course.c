/* tensor_course - see tensor_course.h. */
#include "questions/tensor_course.h"

#include "base/memory.h"
#include "base/search.h"
#include "model/heap_pass.h"

#include <stdlib.h>

/* ---- which moments ---- */

static uint64_t bin_begin(const struct heap_edges *g, size_t bin)
{
    return g->from_ns +
           (uint64_t)((unsigned __int128)(g->to_ns - g->from_ns) * bin / HEAP_EDGES_BINS);
}

uint64_t tensor_course_highest(const struct heap_edges *g, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t most = 0, at_ns = to_ns;
    size_t bin = 0;

    SEARCH(bin, HEAP_EDGES_BINS, i, bin_begin(g, i + 1) < from_ns);
    for (; bin < HEAP_EDGES_BINS && bin_begin(g, bin) <= to_ns; bin++)
        if (g->high[bin] > most && g->high_ns[bin] >= from_ns && g->high_ns[bin] <= to_ns) {
            most = g->high[bin];
            at_ns = g->high_ns[bin];
        }
    return at_ns;
}

void tensor_course_stretches(struct tensor_course *c, const struct heap_edges *g, size_t count)
{
    count = count < TENSOR_COURSE_MOST ? count : TENSOR_COURSE_MOST;
    for (size_t i = 0; i < count; i++) {
        size_t first = i * HEAP_EDGES_BINS / count, end = (i + 1) * HEAP_EDGES_BINS / count;
        size_t best = first;

        for (size_t bin = first; bin < end; bin++)
            best = g->high[bin] > g->high[best] ? bin : best;
        if (!c->count || g->high_ns[best] > c->times[c->count - 1])
            c->times[c->count++] = g->high_ns[best];
    }
}

/* The first of them that is not before a time. */
static size_t moment_of(const struct tensor_course *c, uint64_t time_ns)
{
    size_t low = 0;

    SEARCH(low, c->count, i, c->times[i] < time_ns);
    return low;
}

/* ---- what is no tensor ---- */

static uint64_t *bytes_at(struct tensor_course *c, size_t place, size_t moment)
{
    struct tensor_course_of *of = &c->of[place];

    if (!of->bytes)
        of->bytes = memory_zeroed((c->count + 1) * TENSOR_PARTS_KINDS * sizeof(*of->bytes));
    return of->bytes + moment * TENSOR_PARTS_KINDS;
}

/* A free of what was not seen to live changes nothing, as for heap_at. */
static bool count_block(struct tensor_course *c, const struct heap_change *e)
{
    struct tensor_course_of *of = &c->of[e->place - 1];

    if (!e->info)
        return true;
    if (!of->live)
        of->live = memory_zeroed((e->process->state->info_count + 1) * sizeof(*of->live));
    if (e->freed && !of->live[e->info])
        return false;
    of->live[e->info] += e->freed ? UINT32_MAX : 1;
    return true;
}

static void change(void *context, const struct heap_change *e)
{
    struct tensor_course *c = context;
    const struct op_stack *from = op_stacks_common(&c->tensors->stacks, e->stack);
    uint64_t time_ns = e->time_ns;

    if (from->tensor || !count_block(c, e))
        return;
    if (!e->info && e->freed && e->born_ns > time_ns)
        time_ns = e->born_ns; /* of two threads, whose times differ a little */
    bytes_at(c, e->place - 1,
             moment_of(c, time_ns))[tensor_parts_rest(from)] += e->freed ? 0 - e->bytes : e->bytes;
}

void tensor_course_want(struct tensor_course *c, struct heap *h, struct tensor_state *s)
{
    c->heap = h;
    c->tensors = s;
    c->of = memory_zeroed((h->process_count + 1) * sizeof(*c->of));
    heap_replay_add(h->replay, change, c, UINT64_MAX);
}

/* ---- tensors ---- */

void tensor_course_life(const struct tensor_course *c, const struct tensor *t, size_t *first,
                        size_t *last)
{
    uint64_t end_ns = c->heap->processes[t->place - 1]->end_ns;
    uint64_t to_ns = end_ns < t->to_ns - 1 ? end_ns + 1 : t->to_ns;

    *first = moment_of(c, t->from_ns);
    *last = moment_of(c, to_ns);
}

/* Of what is outside of the windows, all was counted as such: what is told of it is taken out. */
static void add_tensor(struct tensor_course *c, const struct tensor *t)
{
    int kind = tensor_parts_kind(t);
    size_t first, last;

    if (kind == TENSOR_PARTS_OUTSIDE)
        return;
    tensor_course_life(c, t, &first, &last);
    bytes_at(c, t->place - 1, first)[kind] += t->bytes;
    bytes_at(c, t->place - 1, last)[kind] -= t->bytes;
    if (!t->from->outside)
        return;
    bytes_at(c, t->place - 1, first)[TENSOR_PARTS_OUTSIDE] -= t->bytes;
    bytes_at(c, t->place - 1, last)[TENSOR_PARTS_OUTSIDE] += t->bytes;
}

/* A process that has ended holds nothing. */
static void add_up(struct tensor_course *c, size_t place)
{
    uint64_t end_ns = c->heap->processes[place]->end_ns;
    uint64_t *bytes = c->of[place].bytes;

    for (size_t i = TENSOR_PARTS_KINDS; bytes && i < c->count * TENSOR_PARTS_KINDS; i++)
        bytes[i] += bytes[i - TENSOR_PARTS_KINDS];
    for (size_t i = 0; bytes && i < c->count; i++)
        if (c->times[i] > end_ns)
            memset(bytes + i * TENSOR_PARTS_KINDS, 0, TENSOR_PARTS_KINDS * sizeof(*bytes));
}

void tensor_course_end(struct tensor_course *c)
{
    const struct tensors *t = &c->tensors->tensors;

    for (size_t i = 0; i < t->count; i++)
        add_tensor(c, &t->list[i]);
    for (size_t i = 0; i < c->heap->process_count; i++)
        add_up(c, i);
}

const uint64_t *tensor_course_of(const struct tensor_course *c, size_t place, size_t moment)
{
    const uint64_t *bytes = c->of[place].bytes;

    return bytes ? bytes + moment * TENSOR_PARTS_KINDS : NULL;
}

uint64_t tensor_course_at(const struct tensor_course *c, size_t moment,
                          uint64_t of[TENSOR_PARTS_KINDS])
{
    uint64_t sum = 0;

    memset(of, 0, TENSOR_PARTS_KINDS * sizeof(*of));
    for (size_t p = 0; p < c->heap->process_count; p++) {
        const uint64_t *own = tensor_course_of(c, p, moment);

        for (int k = 0; own && k < TENSOR_PARTS_KINDS; k++) {
            of[k] += own[k];
            sum += own[k];
        }
    }
    return sum;
}

void tensor_course_free(struct tensor_course *c)
{
    for (size_t i = 0; c->of && i < c->heap->process_count; i++) {
        free(c->of[i].bytes);
        free(c->of[i].live);
    }
    free(c->of);
    *c = (struct tensor_course){0};
}
