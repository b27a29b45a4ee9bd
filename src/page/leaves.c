/* leaves - see leaves.h. */
#include "page/leaves.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define SHARES 7 /* measures that decide what is folded */

/* ---- leaves, each once ---- */

struct numbered {
    struct leaf leaf;
    uint32_t number;
};

static int compare(const struct leaf *a, const struct leaf *b)
{
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->labels != b->labels)
        return a->labels < b->labels ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

static int by_leaf(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;

    return compare(&a->leaf, &b->leaf);
}

void leaves_sort(struct leaves *l, uint32_t *numbers)
{
    struct numbered *all = memory_zeroed((l->count + 1) * sizeof(*all));
    size_t count = 0;

    for (size_t i = 0; i < l->count; i++)
        all[i] = (struct numbered){l->list[i], (uint32_t)i};
    memory_sort(all, l->count, sizeof(*all), by_leaf);
    for (size_t i = 0; i < l->count; i++) {
        if (!count || compare(&l->list[count - 1], &all[i].leaf))
            l->list[count++] = all[i].leaf;
        numbers[all[i].number] = (uint32_t)count - 1;
    }
    l->count = count;
    free(all);
}

static struct entries renumbered(const struct entries *from, const uint32_t *numbers)
{
    struct entries to = {memory_resize(NULL, (from->count + 1) * sizeof(*to.list)), from->count};

    if (from->count)
        memcpy(to.list, from->list, from->count * sizeof(*to.list));
    for (size_t i = 0; i < to.count; i++)
        to.list[i].owner = numbers[to.list[i].owner];
    to.count = heap_entry_merge(to.list, to.count);
    return to;
}

/* ---- what is small ---- */

/* Sums of a hostile trace may go round. */
static void add(int64_t *to, uint64_t bytes)
{
    *to = (int64_t)((uint64_t)*to + bytes);
}

struct cells { /* of the coarse grid: those that something changes in */
    int first, last;
};

static void widen(struct cells *c, int cell)
{
    c->first = cell < c->first ? cell : c->first;
    c->last = cell > c->last ? cell : c->last;
}

/* What an entry changes: when it is born, and when it dies. */
static void add_change(const struct heap_entry *e, const struct leaves_cells *cells,
                       int64_t *change, struct cells *changed)
{
    int death = (int)HEAP_ENTRY_DEATH(e->death), born = cells->of[e->birth];

    death = death < cells->count ? cells->of[death] : cells->edges;
    add(&change[born], (uint64_t)e->bytes);
    add(&change[death], 0 - (uint64_t)e->bytes);
    widen(changed, born);
    widen(changed, death);
}

/* The most that each leaf has at an edge: of its own entries, in their order. */
static void add_most(const struct entries *e, const struct leaves_cells *cells, double *of)
{
    int64_t *change = memory_zeroed(((size_t)cells->edges + 2) * sizeof(*change));
    const struct cells none = {cells->edges, 0};
    struct cells changed = none;

    for (size_t i = 0, first = 0; i <= e->count; i++) {
        int64_t live = 0, most = 0;

        if (i < e->count && (i == first || e->list[i].owner == e->list[first].owner)) {
            add_change(&e->list[i], cells, change, &changed);
            continue;
        }
        for (int k = changed.first; first < e->count && k <= changed.last; k++) {
            add(&live, (uint64_t)change[k]);
            most = live > most && k < cells->edges ? live : most;
            change[k] = 0;
        }
        changed = none;
        if (first < e->count)
            of[e->list[first].owner] = (double)most;
        if (i == e->count)
            break;
        first = i--;
    }
    free(change);
}

static void add_sums(const struct entries *e, bool counts, double *of)
{
    for (size_t i = 0; i < e->count; i++)
        of[e->list[i].owner] += (double)(counts ? e->list[i].count : e->list[i].bytes);
}

/* The most of all leaves together. */
static double most_of_all(const struct entries *e, const struct leaves_cells *cells)
{
    int64_t *change = memory_zeroed(((size_t)cells->edges + 2) * sizeof(*change));
    struct cells changed = {0, 0};
    int64_t live = 0, most = 0;

    for (size_t i = 0; i < e->count; i++)
        add_change(&e->list[i], cells, change, &changed);
    for (int k = 0; k < cells->edges; k++) {
        add(&live, (uint64_t)change[k]);
        most = live > most ? live : most;
    }
    free(change);
    return (double)most;
}

static double measure(const struct leaves *l, int which, const struct leaves_cells *cells,
                      double *of)
{
    double sum = 0;

    memset(of, 0, (l->count + 1) * sizeof(*of));
    switch (which) {
    case 0:
        add_most(&l->of[MEASURE_HEAP], cells, of);
        return most_of_all(&l->of[MEASURE_HEAP], cells);
    case 1:
        add_most(&l->of[MEASURE_MAPS], cells, of);
        return most_of_all(&l->of[MEASURE_MAPS], cells);
    case 2:
        add_sums(&l->of[MEASURE_HEAP], true, of);
        break;
    case 3:
        add_sums(&l->of[MEASURE_HEAP], false, of);
        break;
    default:
        add_sums(&l->of[MEASURE_MAPS + which - 3], false, of);
        break;
    }
    for (size_t i = 0; i < l->count; i++)
        sum += of[i];
    return sum;
}

/* Of every node, with what is below it, the sum and the largest of its shares of each measure.
 * Children come after their parents.
 */
void leaves_weigh(struct leaves_weights *w, const struct leaves *l,
                  const struct leaves_cells *cells)
{
    double *of = memory_zeroed((l->count + 1) * sizeof(*of));
    double *sums = memory_zeroed((l->node_count + 1) * sizeof(*sums));

    w->sums = memory_zeroed((l->node_count + 1) * sizeof(*w->sums));
    w->most = memory_zeroed((l->node_count + 1) * sizeof(*w->most));
    for (int which = 0; which < SHARES; which++) {
        double whole = measure(l, which, cells, of);

        memset(sums, 0, l->node_count * sizeof(*sums));
        for (size_t i = 0; i < l->count; i++)
            sums[l->list[i].node] += whole > 0 ? of[i] / whole : 0;
        for (size_t i = l->node_count; i-- > 0;) {
            w->most[i] = !which || sums[i] > w->most[i] ? sums[i] : w->most[i];
            w->sums[i] += sums[i];
            if (i)
                sums[l->nodes[i].up] += sums[i];
        }
    }
    free(of);
    free(sums);
}

void leaves_weights_free(struct leaves_weights *w)
{
    free(w->sums);
    free(w->most);
    *w = (struct leaves_weights){0};
}

/* Those that are not below the limit in any measure. */
static bool *find_kept(const struct leaves *l, const struct leaves_weights *w, double least)
{
    bool *keep = memory_zeroed(l->node_count + 1);

    for (size_t i = 0; i < l->node_count; i++)
        keep[i] = w->most[i] >= least;
    keep[0] = true;
    return keep;
}

/* ---- what is left ---- */

/* A node for each that is kept, and one of frame 0, "(smaller)", under each that has others below
 * it.
 */
static void keep_nodes(struct leaves *to, const struct leaves *from, const bool *keep,
                       uint32_t *places)
{
    uint32_t *smaller = memory_zeroed((from->node_count + 1) * sizeof(*smaller));

    to->nodes = memory_resize(NULL, (2 * from->node_count + 1) * sizeof(*to->nodes));
    for (size_t i = 0; i < from->node_count; i++) {
        uint32_t up = from->nodes[i].up;

        if (!keep[i] && !keep[up]) {
            places[i] = places[up];
            continue;
        }
        if (!keep[i] && smaller[up]) {
            places[i] = smaller[up];
            continue;
        }
        places[i] = (uint32_t)to->node_count;
        if (!keep[i])
            smaller[up] = places[i];
        to->nodes[to->node_count++] = (struct trie_node){i ? places[up] : 0,
                                                         keep[i] ? from->nodes[i].frame : 0};
    }
    free(smaller);
}

struct kid {
    double weight;
    uint32_t up, node;
};

static int by_parent(const void *left, const void *right)
{
    const struct kid *a = left, *b = right;

    if (a->up != b->up)
        return a->up < b->up ? -1 : 1;
    if (a->weight < b->weight || a->weight > b->weight)
        return a->weight < b->weight ? -1 : 1; /* the heaviest last: it leaves the stack first */
    return a->node < b->node ? 1 : a->node > b->node ? -1 : 0;
}

/* The nodes in preorder, of each the heaviest children first. */
static void order_nodes(struct leaves *l, const double *weights, uint32_t *places)
{
    size_t n = l->node_count, depth = 0, count = 0;
    struct kid *kids = memory_zeroed((n + 1) * sizeof(*kids));
    uint32_t *first = memory_zeroed((n + 2) * sizeof(*first));
    uint32_t *stack = memory_zeroed((n + 1) * sizeof(*stack));
    struct trie_node *nodes = memory_resize(NULL, (n + 1) * sizeof(*nodes));

    for (size_t i = 1; i < n; i++) {
        kids[i - 1] = (struct kid){weights[i], l->nodes[i].up, (uint32_t)i};
        first[l->nodes[i].up + 1]++;
    }
    memory_sort(kids, n ? n - 1 : 0, sizeof(*kids), by_parent);
    for (size_t i = 1; i <= n; i++)
        first[i] += first[i - 1];
    for (stack[depth++] = 0; depth;) {
        uint32_t node = stack[--depth];

        places[node] = (uint32_t)count;
        nodes[count++] = (struct trie_node){node ? places[l->nodes[node].up] : 0,
                                            l->nodes[node].frame};
        for (uint32_t i = first[node]; i < first[node + 1]; i++)
            stack[depth++] = kids[i].node;
    }
    free(l->nodes);
    l->nodes = nodes;
    free(kids);
    free(first);
    free(stack);
}

static double *weights_of(const struct leaves *from, const double *weights, const bool *keep,
                          const uint32_t *places, size_t count)
{
    double *of = memory_zeroed((count + 1) * sizeof(*of));

    for (size_t i = 0; i < from->node_count; i++)
        if (keep[i])
            of[places[i]] = weights[i];
    return of;
}

/* Of the frames that are folded away above a node, the innermost that tell best who asks. */
static uint32_t site_below(const struct leaves *from, const bool *keep, uint32_t node)
{
    uint32_t best = 0;

    for (; !keep[node]; node = from->nodes[node].up) {
        uint32_t frame = from->nodes[node].frame;

        if (!best || from->ranks[frame] > from->ranks[best])
            best = frame;
    }
    return best;
}

void leaves_fold(struct leaves *to, const struct leaves *from, double least,
                 const struct leaves_weights *weights)
{
    bool *keep = find_kept(from, weights, least);
    uint32_t *places = memory_zeroed((from->node_count + 1) * sizeof(*places)), *order;
    uint32_t *numbers = memory_zeroed((from->count + 1) * sizeof(*numbers));

    double *of;

    *to = (struct leaves){0};
    keep_nodes(to, from, keep, places);
    of = weights_of(from, weights->sums, keep, places, to->node_count);
    order = memory_zeroed((to->node_count + 1) * sizeof(*order));
    order_nodes(to, of, order);
    to->count = from->count;
    to->list = memory_resize(NULL, (from->count + 1) * sizeof(*to->list));
    for (size_t i = 0; i < from->count; i++) {
        to->list[i] = from->list[i];
        to->list[i].node = order[places[from->list[i].node]];
        if (!from->list[i].has_line)
            to->list[i].site = site_below(from, keep, from->list[i].node);
    }
    leaves_sort(to, numbers);
    for (int i = 0; i < MEASURES; i++)
        to->of[i] = renumbered(&from->of[i], numbers);
    free(of);
    free(keep);
    free(places);
    free(order);
    free(numbers);
}

void leaves_free(struct leaves *l)
{
    for (int i = 0; i < MEASURES; i++)
        free(l->of[i].list);
    free(l->list);
    free(l->nodes);
    free(l->ranks);
    *l = (struct leaves){0};
}
