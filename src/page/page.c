/* page - see page.h. */
#include "page/page.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/allowed.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MOST 100000u
#define ENTRIES_MOST 1500000u
#define THREADS_MOST 50000u

/* ---- both passes ---- */

void page_begin(struct page *p, struct recorded *r, const struct selection_finer *finer)
{
    uint64_t last_ns = trace_last_ns(r->trace);

    *p = (struct page){.recorded = r, .labels.names = &r->names, .series.last_ns = last_ns};
    heap_edges_start(&p->edges, &r->heap, last_ns, finer->from_ns, finer->to_ns);
    if (p->edges.finer) {
        p->series.from_ns = p->edges.from_ns;
        p->series.to_ns = p->edges.to_ns;
    }
    recorded_listen(r, series_tick, &p->series);
    recorded_take_first(r, heap_edges_record, &p->edges);
    recorded_take_first(r, heap_labels_record, &p->labels);
}

/* Time and copies: `birth` is the cell, `death` the kind or the cause. */
static void put_time(struct page *p, const struct trace_event *ev, const struct cpu_sums *one)
{
    struct heap_entry e = {
        .owner = heap_entries_owner(&p->entries, ev->cpu.stack, ev->cpu.thread, 0),
        .birth = (uint16_t)heap_edges_cell(&p->edges, ev->time_ns)};

    if (ev->kind == TRACE_CPU) {
        e.death = (uint16_t)(ev->cpu.cpu_kind & 15);
        e.bytes = (int64_t)one->ns;
        heap_entry_put(&p->logs[MEASURE_CPU], &e);
    } else if (ev->kind == TRACE_WAIT) {
        e.death = (uint16_t)(ev->wait.cause < CPU_TIME_CAUSES ? ev->wait.cause : 0);
        e.bytes = (int64_t)ev->wait.ns;
        heap_entry_put(&p->logs[MEASURE_WAITS], &e);
    } else {
        e.count = (int64_t)(ev->present >= 4 && ev->copy.weight ? ev->copy.weight : 1000);
        e.bytes = (int64_t)one->copied;
        heap_entry_put(&p->logs[MEASURE_COPIES], &e);
    }
}

static void take(void *context, const struct trace_event *ev)
{
    struct page *p = context;
    struct cpu_sums one;

    heap_entries_record(&p->entries, ev);
    if (!p->beside && cpu_time_of(&p->recorded->cpu, ev, &one))
        put_time(p, ev, &one);
}

/* Of a million stacks most differ in machinery alone, which the page leaves out: those of one node
 * and line are one to it.
 */
static bool are_alike(struct page *p, uint32_t node, uint32_t a, uint32_t b)
{
    const struct line_sums *s = p->lines;

    return trie_node(&p->trie, b) == node && s->holders.lines[a] == s->holders.lines[b] &&
           blame_stack(&s->blame, a) == blame_stack(&s->blame, b);
}

static uint32_t stack_like(void *context, uint32_t stack)
{
    struct page *p = context;
    const struct line_sums *s = p->lines;
    uint32_t node = trie_node(&p->trie, stack);
    uint64_t key, like;

    if (pools_may_own(&s->pools, stack))
        return stack;
    key = hash_mix(intmap_hash((uint64_t)node << 32 | s->holders.lines[stack]),
                   blame_stack(&s->blame, stack));
    for (; intmap_get(&p->alike, key, &like); key++)
        if (are_alike(p, node, stack, (uint32_t)like))
            return (uint32_t)like;
    intmap_put(&p->alike, key, stack);
    return stack;
}

void page_again(struct page *p, struct line_sums *l)
{
    p->lines = l;
    heap_edges_end(&p->edges);
    trie_start(&p->trie, &p->recorded->frames, &p->recorded->arena);
    heap_entries_start(&p->entries, &p->edges, &p->recorded->heap, &p->labels);
    p->entries.like = stack_like;
    p->entries.context = p;
    recorded_take_again(p->recorded, take, p, UINT64_MAX);
}

/* ---- leaves ---- */

/* Where the time of threads without a line went, by stack: to the line that had most of it. */
static void read_pools(struct page *p)
{
    const struct pools *pools = &p->lines->pools;
    struct intmap most = {0};

    for (size_t i = 0; i < pools->entry_count; i++) {
        const struct pool_entry *e = &pools->entries[i];
        uint64_t before = 0, ns = e->sums.ns + e->sums.wait_ns + 1;

        if (intmap_get(&most, e->stack, &before) && before >= ns)
            continue;
        intmap_put(&most, e->stack, ns);
        intmap_put(&p->pool_lines, e->stack, e->line);
    }
    intmap_free(&most);
}

/* Blocks of threads that work for several lines are, here, all of the line that has most of them.
 */
static uint32_t line_of_blocks(const struct line_sums *s, uint32_t stack)
{
    const struct pool_share *shares, *most = NULL;
    size_t count = pool_blocks_of(&s->pools.blocks, stack, &shares);

    for (size_t i = 0; i < count; i++)
        most = !most || shares[i].allocated > most->allocated ? &shares[i] : most;
    return most ? most->line : s->holders.lines[stack];
}

static uint32_t line_of(const struct page *p, const struct heap_owner *o, bool time)
{
    const struct line_sums *s = p->lines;
    uint64_t line;

    if (!time)
        return line_of_blocks(s, o->stack);
    if (pools_own(&s->pools, threads_find(&p->recorded->threads, o->thread), o->stack) &&
        intmap_get(&p->pool_lines, o->stack, &line))
        return (uint32_t)line;
    return blame_stack(&s->blame, o->stack);
}

/* Its place in LINE: those that are used, in the order of first sight; 0 is none. */
static uint32_t place_of_line(struct page *p, uint32_t line)
{
    if (line == SCOPE_OWN || line >= p->lines->blame.line_count)
        return 0;
    if (!p->line_places[line]) {
        p->line_places[line] = ++p->line_count;
        p->line_list[p->line_count] = line;
    }
    return p->line_places[line];
}

static uint32_t place_of_thread(struct page *p, uint64_t number)
{
    const struct threads_thread *t = threads_find(&p->recorded->threads, number);

    if (t && t->place < p->thread_count)
        return (uint32_t)t->place;
    p->thread_unknown = true;
    return p->thread_count;
}

static struct leaf leaf_of(struct page *p, const struct heap_owner *o, bool time)
{
    uint32_t line = line_of(p, o, time);

    return (struct leaf){.node = trie_node(&p->trie, o->stack),
                         .thread = place_of_thread(p, o->thread),
                         .line = place_of_line(p, line),
                         .labels = o->labels,
                         .has_line = line >= SCOPE_KINDS && line < p->lines->blame.line_count};
}

/* Owners twice: what one holds and what it spends may be of different lines. Which of them have
 * anything?
 */
static bool *used_owners(const struct page *p)
{
    bool *used = memory_zeroed(2 * p->entries.owner_count + 1);

    for (size_t i = 0; i < p->entries.log.count; i++)
        used[2 * (size_t)p->entries.log.list[i].owner] = true;
    for (int m = MEASURE_HEAP + 1; m < MEASURES; m++)
        for (size_t i = 0; i < p->logs[m].count; i++)
            used[2 * (size_t)p->logs[m].list[i].owner + (m >= MEASURE_CPU)] = true;
    return used;
}

/* The leaves, and by owner (twice) their places. */
static uint32_t *make_leaves(struct page *p)
{
    struct leaves *l = &p->whole;
    size_t owners = p->entries.owner_count;
    uint32_t *numbers = memory_zeroed((2 * owners + 1) * sizeof(*numbers));
    uint32_t *places = memory_zeroed((2 * owners + 1) * sizeof(*places));
    bool *used = used_owners(p);

    l->list = memory_resize(NULL, (2 * owners + 1) * sizeof(*l->list));
    for (size_t i = 0; i < 2 * owners; i++) {
        const struct heap_owner *o = &p->entries.owners[i / 2];

        if (!used[i])
            continue;
        numbers[i] = (uint32_t)l->count;
        l->list[l->count++] = leaf_of(p, o, i % 2);
    }
    leaves_sort(l, places);
    for (size_t i = 0; i < 2 * owners; i++)
        numbers[i] = used[i] ? places[numbers[i]] : 0;
    free(places);
    free(used);
    return numbers;
}

static void number_entries(struct entries *to, struct heap_entry *list, size_t count, bool time,
                           const uint32_t *numbers)
{
    for (size_t i = 0; i < count; i++)
        list[i].owner = numbers[2 * list[i].owner + time];
    to->list = list;
    to->count = heap_entry_merge(list, count);
}

/* What lives at the edges, by the entries: where a free was taken back long after, this is right.
 */
static void count_live(struct page *p)
{
    uint64_t live[HEAP_EDGES_MOST];

    heap_entry_live(&p->entries.log, p->edges.count, live);
    for (int i = 0; i < p->edges.count; i++)
        p->edges.list[i].bytes = live[i];
}

static void read_leaves(struct page *p)
{
    size_t lines = p->lines->blame.line_count + SCOPE_KINDS + 1;
    uint32_t *numbers;

    p->line_places = memory_zeroed(lines * sizeof(*p->line_places));
    p->line_list = memory_zeroed(lines * sizeof(*p->line_list));
    p->thread_count = p->recorded->threads.count < THREADS_MOST
                        ? (uint32_t)p->recorded->threads.count
                        : THREADS_MOST;
    read_pools(p);
    numbers = make_leaves(p);
    p->whole.nodes = p->trie.nodes;
    p->whole.node_count = p->trie.node_count;
    p->whole.ranks = trie_ranks(&p->trie);
    number_entries(&p->whole.of[MEASURE_HEAP], p->entries.log.list, p->entries.log.count, false,
                   numbers);
    for (int i = MEASURE_HEAP + 1; i < MEASURES; i++)
        number_entries(&p->whole.of[i], p->logs[i].list, p->logs[i].count, i >= MEASURE_CPU,
                       numbers);
    free(numbers);
}

/* ---- how much is shown ---- */

static void halve(struct page *p)
{
    uint16_t cells[HEAP_EDGES_MOST];
    int before = p->edges.count;

    leaves_weights_free(&p->weights); /* of the cells that were */
    heap_edges_halve(&p->edges, cells);
    for (int m = 0; m < MEASURES; m++)
        for (size_t i = 0; i < p->whole.of[m].count; i++) {
            struct heap_entry *e = &p->whole.of[m].list[i];
            unsigned int death = HEAP_ENTRY_DEATH(e->death);

            e->birth = cells[e->birth < before ? e->birth : before - 1];
            if (m <= MEASURE_MAPS && death < (unsigned int)before)
                e->death = (uint16_t)(cells[death] | (e->death & HEAP_ENTRY_WITH_IT));
        }
    for (int m = 0; m < MEASURES; m++)
        p->whole.of[m].count = heap_entry_merge(p->whole.of[m].list, p->whole.of[m].count);
    p->parts /= 2;
}

static void fold(struct page *p, double below)
{
    uint16_t cells[HEAP_EDGES_MOST];
    struct leaves_cells of = {cells, p->edges.count, p->edges.coarse_count};

    leaves_free(&p->shown);
    if (!p->weights.sums) {
        heap_edges_coarse(&p->edges, cells);
        leaves_weigh(&p->weights, &p->whole, &of);
    }
    leaves_fold(&p->shown, &p->whole, below, &p->weights);
    p->folded_below = below;
}

static bool is_small(const struct page *p)
{
    return p->shown.node_count <= NODES_MOST && p->shown.of[MEASURE_HEAP].count <= ENTRIES_MOST;
}

/* Try, measure, fold more: how small the result is cannot be told before. */
static bool shrink(struct page *p, const struct page_words *w, struct bytes *out)
{
    static const double ladder[] = {0, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3};
    size_t most = p->most ? p->most : PAGE_BYTES_MOST;

    for (int i = 0; i < COUNT(ladder); i++) {
        bool last = i + 1 == COUNT(ladder);

        fold(p, ladder[i]);
        if (!is_small(p) && !last)
            continue;
        if (!page_write(p, w, out))
            return false;
        if (out->count <= most)
            return true;
    }
    while (out->count > most && p->parts > 30) {
        halve(p);
        fold(p, ladder[COUNT(ladder) - 1]);
        if (!page_write(p, w, out))
            return false;
    }
    return true;
}

void page_end(struct page *p)
{
    heap_entries_end(&p->entries);
    intmap_free(&p->alike);
}

bool page_read(struct page *p, const struct page_words *w, struct bytes *out)
{
    p->logs[MEASURE_MAPS] = p->entries.mapped;
    p->entries.mapped = (struct heap_entry_log){0};
    p->parts = HEAP_EDGES_PARTS;
    count_live(p);
    read_leaves(p);
    return shrink(p, w, out);
}

static void give_up(struct page *p)
{
    free(p->entries.log.list);
    for (int i = 0; i < MEASURES; i++)
        free(p->logs[i].list);
}

void page_free(struct page *p)
{
    if (!p->parts) /* nothing was read */
        give_up(p);
    p->entries.log.list = NULL; /* the leaves have it, */
    p->whole.nodes = NULL;      /* and the trie these */
    leaves_free(&p->whole);
    leaves_free(&p->shown);
    leaves_weights_free(&p->weights);
    heap_entries_free(&p->entries);
    heap_labels_free(&p->labels);
    series_free(&p->series);
    trie_free(&p->trie);
    intmap_free(&p->pool_lines);
    free(p->line_places);
    free(p->line_list);
}
