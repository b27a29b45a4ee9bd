/* question_tree - the question `tree`: the calls that lead to memory, by what lived at the peak (or
 * at another moment): from the outermost function down, or inverted, from the function that
 * allocated to its callers.
 *
 * Calls of one function from one caller are one node, whatever the line. What is allocated below
 * the nodes that are left out for their number is part of those above them.
 */
#include "base/count.h"
#include "model/heap_rows.h"
#include "model/plumbing.h"

#include "base/hash.h"
#include "base/intmap.h"
#include "base/memory.h"
#include "base/text.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

#include <stdlib.h>

#define ROWS 100
#define NODES_MOST (1u << 21)

enum { DEPTH, FUNCTION, BYTES, PERCENT, SELF, BLOCKS, ERROR_PERCENT, MODULE };

static const struct table_column columns[] = {
    [DEPTH] = {"depth", UNIT_DEPTH},
    [FUNCTION] = {"function", UNIT_TEXT},
    [BYTES] = {"bytes", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [SELF] = {"self", UNIT_BYTES},
    [BLOCKS] = {"blocks", UNIT_COUNT, .detail = true},
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
    [MODULE] = {"module", UNIT_TEXT, .detail = true},
};

struct node {
    uint32_t parent, number; /* 0 is the root; a parent is always before its children */
    uint32_t depth;
    struct heap_amount sum, self;
    struct table_frame frame;
    uint32_t first_child, last_child, sibling;
};

struct tree {
    struct node *nodes;
    uint32_t count, room;
    struct intmap places; /* hash of parent and function -> node */
};

static uint64_t key_of(uint32_t parent, const struct table_frame *f)
{
    uint64_t key = hash_mix(hash_mix(parent + 1ull, (uintptr_t)f->module),
                            f->flags & TABLE_FRAME_ELIDED);

    if (f->flags & TABLE_FRAME_PYTHON) /* each file has a "<module>" */
        key = hash_mix(key, (uintptr_t)f->file);
    return f->function ? hash_mix(key, (uintptr_t)f->function) : hash_mix(key, f->address * 2 + 1);
}

/* The child of a node; the node itself where there are too many. */
static uint32_t child_of(struct tree *t, uint32_t parent, const struct table_frame *f)
{
    uint64_t key = key_of(parent, f), place;

    if (intmap_get(&t->places, key, &place))
        return (uint32_t)place;
    if (t->count == NODES_MOST)
        return parent;
    memory_fit(t->nodes, t->room, t->count + 1);
    t->nodes[t->count] = (struct node){
        .parent = parent, .number = t->count, .depth = t->nodes[parent].depth + 1, .frame = *f};
    intmap_put(&t->places, key, t->count);
    return t->count++;
}

/* The machinery is walked over; with `native`, only the allocators where a tree would begin with
 * them. */
static bool is_shown(const struct table_frame *f, const struct selection *o, bool first)
{
    if (!o->native)
        return !(f->flags & TABLE_FRAME_MACHINERY);
    return !(o->inverted && first && f->function && plumbing_is_allocator(f->function));
}

static void add_stack(struct tree *t, const struct heap_amount *at,
                      const struct table_stack *frames, const struct selection *o)
{
    int count = frames ? frames->count : 0;
    uint32_t node = 0;

    heap_add(&t->nodes[0].sum, at);
    for (int i = 0; i < count; i++) {
        const struct table_frame *f = &frames->frames[o->inverted ? i : count - 1 - i];
        uint32_t next = is_shown(f, o, !node && i + 1 < count) ? child_of(t, node, f) : node;

        if (next != node)
            heap_add(&t->nodes[next].sum, at);
        node = next;
    }
    heap_add(&t->nodes[node].self, at);
}

static int by_bytes(const void *left, const void *right)
{
    const struct node *l = *(struct node *const *)left, *r = *(struct node *const *)right;

    if (l->sum.bytes != r->sum.bytes)
        return l->sum.bytes < r->sum.bytes ? 1 : -1;
    return l->number < r->number ? -1 : l->number > r->number;
}

/* The largest ones, linked below their parents, which are among them since they are no smaller. */
static size_t choose(struct tree *t, uint64_t most)
{
    struct node **order = memory_resize(NULL, t->count * sizeof(struct node *));
    size_t shown = 0;

    for (uint32_t i = 0; i < t->count; i++)
        order[i] = &t->nodes[i];
    memory_sort(order, t->count, sizeof(*order), by_bytes);
    for (uint32_t i = 0; i < t->count && shown < most; i++) {
        struct node *n = order[i], *parent = &t->nodes[n->parent];

        if (!n->number || !n->sum.bytes)
            continue;
        if (parent->last_child)
            t->nodes[parent->last_child].sibling = n->number;
        else
            parent->first_child = n->number;
        parent->last_child = n->number;
        shown++;
    }
    free(order);
    return shown;
}

static uint32_t next_of(const struct tree *t, uint32_t i)
{
    if (t->nodes[i].first_child)
        return t->nodes[i].first_child;
    while (i && !t->nodes[i].sibling)
        i = t->nodes[i].parent;
    return i ? t->nodes[i].sibling : 0;
}

/* "<module> (pandas/__init__.py)": what such a name says alone is nothing. */
static const char *name_of(struct arena *a, struct table_frame f)
{
    const char *name;

    f.line = 0; /* it is that of one of the calls */
    f.flags &= ~(unsigned int)TABLE_FRAME_INLINED;
    name = table_frame_text(a, &f);
    if (!(f.flags & TABLE_FRAME_PYTHON) || !f.file || !f.function || f.function[0] != '<')
        return name;
    return arena_printf(a, "%s (%s)", name, text_source(f.file));
}

static void fill(struct answer *a, struct table_cell *c, const struct tree *t, const struct node *n,
                 bool inverted)
{
    cell_number(&c[DEPTH], n->depth - 1);
    cell_text(&c[FUNCTION], name_of(a->arena, n->frame));
    heap_cell_bytes(&c[BYTES], &n->sum);
    heap_cell_percent(&c[PERCENT], (double)n->sum.bytes, (double)t->nodes[0].sum.bytes);
    if (!inverted) /* there, what ends at a node says nothing */
        heap_cell_bytes(&c[SELF], &n->self);
    heap_cell_blocks(&c[BLOCKS], &n->sum);
    heap_cell_error(&c[ERROR_PERCENT], &n->sum);
    cell_text(&c[MODULE], n->frame.module);
}

static void grow(struct tree *t, struct heap *h)
{
    memory_fit_zeroed(t->nodes, t->room, 1);
    t->count = 1;
    for (size_t i = 0; i < h->stack_count; i++) {
        struct heap_amount at = heap_stack_at(h, &h->stacks[i]);
        struct arena scratch = {0};

        if (at.milliblocks)
            add_stack(t, &at, frames_stack(h->frames, &scratch, h->stacks[i].number), &h->options);
        arena_free(&scratch);
    }
}

static void again(struct asked *q)
{
    heap_want_asked(&q->recorded->heap, HEAP_AT_PEAK);
    heap_want_bounded(&q->recorded->heap);
}

static int run(struct asked *q, struct err *err)
{
    const struct selection *o = q->options;
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct table *table = answer_add(a, "tree", TABLE_ROWS, columns, COUNT(columns));
    struct tree tree = {0};
    struct heap_amount sum;
    size_t shown;

    (void)err;
    if (heap_begin(h, a, table)) {
        sum = heap_at_asked(h, HEAP_AT_PEAK);
        grow(&tree, h);
        shown = choose(&tree, o->rows ? o->rows : ROWS);
        for (uint32_t i = next_of(&tree, 0); i; i = next_of(&tree, i))
            fill(a, table_add(a, table), &tree, &tree.nodes[i], o->inverted);
        table->note = arena_printf(
            a->arena, "%s: %s%s.",
            o->inverted ? "From what allocated to its callers" : "From the outermost call down",
            heap_basis(h, &sum), shown + 1 < tree.count ? "; smaller calls are left out" : "");
        free(tree.nodes);
        intmap_free(&tree.places);
    }
    return 0;
}

const struct question question_tree = {
    .name = "tree",
    .summary = "the calls that lead to memory, from the top or inverted",
    .group = QUESTION_OF_ALLOCATIONS,
    .reads = RECORDED_HEAP,
    .again = again,
    .run = run,
};
