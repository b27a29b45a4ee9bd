/* calltree - the question `tree`: the calls that lead to memory, by what lived at the peak (or at
 * another moment): from the outermost function down, or inverted, from the function that allocated
 * to its callers.
 *
 * Calls of one function from one caller are one node, whatever the line. What is allocated below
 * the nodes that are left out for their number is part of those above them.
 */
#include "analyze/heap_rows.h"

#include "base/intmap.h"
#include "base/memory.h"

#include <stdlib.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS 100
#define NODES_MOST (1u << 21)

static const struct table_column columns[] = {
    {"depth", UNIT_DEPTH},           {"function", UNIT_TEXT}, {"bytes", UNIT_BYTES},
    {"percent", UNIT_PERCENT},       {"self", UNIT_BYTES},    {"blocks", UNIT_COUNT},
    {"error_percent", UNIT_PERCENT}, {"module", UNIT_TEXT},
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
    uint64_t key = intmap_mix(intmap_mix(parent + 1ull, (uintptr_t)f->module),
                              f->flags & TABLE_FRAME_ELIDED);

    return f->function ? intmap_mix(key, (uintptr_t)f->function)
                       : intmap_mix(key, f->address * 2 + 1);
}

/* The child of a node; the node itself where there are too many. */
static uint32_t child_of(struct tree *t, uint32_t parent, const struct table_frame *f)
{
    uint64_t key = key_of(parent, f), place;

    if (intmap_get(&t->places, key, &place))
        return (uint32_t)place;
    if (t->count == NODES_MOST)
        return parent;
    if (t->count == t->room) {
        t->room *= 2;
        t->nodes = memory_resize(t->nodes, t->room * sizeof(*t->nodes));
    }
    t->nodes[t->count] = (struct node){
        .parent = parent, .number = t->count, .depth = t->nodes[parent].depth + 1, .frame = *f};
    intmap_put(&t->places, key, t->count);
    return t->count++;
}

static void add_stack(struct tree *t, const struct heap_stack *s, const struct table_stack *frames,
                      bool inverted)
{
    int count = frames ? frames->count : 0, at = 0;
    uint32_t node = 0;

    while (inverted && at + 1 < count && frames->frames[at].function &&
           frames_is_allocator(frames->frames[at].function))
        at++;
    heap_add(&t->nodes[0].sum, &s->at);
    for (int left = count - at; left > 0; left--) {
        uint32_t next = child_of(t, node, &frames->frames[inverted ? count - left : left - 1]);

        if (next != node)
            heap_add(&t->nodes[next].sum, &s->at);
        node = next;
    }
    heap_add(&t->nodes[node].self, &s->at);
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

static void fill(struct answer *a, struct table_cell *c, const struct tree *t, const struct node *n,
                 bool inverted)
{
    struct table_frame name = n->frame;

    name.line = 0; /* it is that of one of the calls */
    name.flags &= ~(unsigned int)TABLE_FRAME_INLINED;
    cell_number(&c[0], n->depth - 1);
    cell_text(&c[1], table_frame_text(a->arena, &name));
    heap_cell_bytes(&c[2], &n->sum);
    heap_cell_percent(&c[3], (double)n->sum.bytes, (double)t->nodes[0].sum.bytes);
    if (!inverted) /* there, what ends at a node says nothing */
        heap_cell_bytes(&c[4], &n->self);
    heap_cell_blocks(&c[5], &n->sum);
    heap_cell_error(&c[6], &n->sum);
    cell_text(&c[7], n->frame.module);
}

static void grow(struct tree *t, struct heap *h)
{
    t->room = 256;
    t->nodes = memory_zeroed(t->room * sizeof(*t->nodes));
    t->count = 1;
    for (size_t i = 0; i < h->stack_count; i++) {
        struct arena scratch = {0};

        if (h->stacks[i].at.milliblocks)
            add_stack(t, &h->stacks[i], frames_stack(&h->frames, &scratch, h->stacks[i].number),
                      h->options.inverted);
        arena_free(&scratch);
    }
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *table = answer_add(a, "tree", TABLE_ROWS, columns, COUNT(columns));
    struct tree tree = {0};
    struct heap_amount sum;
    size_t shown;
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    if (heap_begin(&h, a, table)) {
        sum = heap_at_asked(&h, t, HEAP_AT_PEAK);
        grow(&tree, &h);
        shown = choose(&tree, o->rows ? o->rows : ROWS);
        for (uint32_t i = next_of(&tree, 0); i; i = next_of(&tree, i))
            fill(a, table_add(a, table), &tree, &tree.nodes[i], o->inverted);
        table->note = arena_printf(
            a->arena, "%s: %s%s.",
            o->inverted ? "From what allocated to its callers" : "From the outermost call down",
            heap_basis(&h, &sum), shown + 1 < tree.count ? "; smaller calls are left out" : "");
        free(tree.nodes);
        intmap_free(&tree.places);
    }
    heap_free(&h);
    return 0;
}

const struct question question_tree = {
    .name = "tree",
    .summary = "the calls that lead to memory, from the top or inverted",
    .run = run,
};
