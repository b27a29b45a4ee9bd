/* stack_tree - see stack_tree.h. */
#include "report/stack_tree.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "report/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MOST 100000u /* what viewers still open quickly */

static const struct table_frame smaller = {.function = "(smaller)"};
static const struct table_frame nowhere = {.function = "[no stack]"};

/* What can be added up; everything else in a row is a rate, a share or a time of day. */
static bool is_sum(const struct table_column *c)
{
    static const char *const sums[] = {"bytes", "blocks",  "lost",    "lost_blocks",
                                       "cpu",   "copying", "samples", "blocks_allocated"};

    for (int i = 0; i < COUNT(sums); i++)
        if (strcmp(c->name, sums[i]) == 0)
            return true;
    return false;
}

static int find_column(const struct table *t, enum table_unit unit)
{
    for (int i = 0; i < t->width; i++)
        if (t->columns[i].unit == unit)
            return i;
    return -1;
}

const struct table *formats_stacks(const struct answer *a)
{
    for (int i = 0; i < a->count; i++) {
        const struct table *t = a->tables[i];

        if (t->shape != TABLE_FACTS && find_column(t, UNIT_STACK) >= 0 &&
            (find_column(t, UNIT_BYTES) >= 0 || find_column(t, UNIT_NS) >= 0))
            return t;
    }
    return NULL;
}

static bool choose_columns(struct stack_tree *t)
{
    for (int i = 0; i < t->table->width && t->values < STACK_TREE_VALUES; i++)
        if (is_sum(&t->table->columns[i]))
            t->columns[t->values++] = i;
    return t->values > 0;
}

/* Texts of an answer are known by their place. */
static uint64_t frame_hash(const struct table_frame *f)
{
    uint64_t h = hash_mix((uintptr_t)f->function, (uintptr_t)f->file);

    h = hash_mix(hash_mix(h, (uintptr_t)f->module), f->line);
    return hash_mix(hash_mix(h, f->function ? 0 : f->address), f->flags);
}

static bool is_same(const struct table_frame *a, const struct table_frame *b)
{
    return a->function == b->function && a->file == b->file && a->module == b->module &&
           a->line == b->line && a->flags == b->flags && (a->function || a->address == b->address);
}

static uint32_t frame_number(struct stack_tree *t, const struct table_frame *f)
{
    uint64_t key = frame_hash(f), found = 0;

    intmap_get(&t->places, key, &found);
    for (uint64_t i = found; i; i = t->same[i])
        if (is_same(t->frames[i], f))
            return (uint32_t)i;
    memory_fit(t->frames, t->frame_room, t->frame_count + 2);
    memory_fit(t->same, t->same_room, t->frame_count + 2);
    t->frame_count++;
    t->frames[t->frame_count] = f;
    t->same[t->frame_count] = (uint32_t)found;
    intmap_put(&t->places, key, t->frame_count);
    return (uint32_t)t->frame_count;
}

/* With its root. */
static void begin(struct stack_tree *t)
{
    if (t->count)
        return;
    memory_fit(t->nodes, t->room, 1);
    t->nodes[t->count++] = (struct stack_node){0};
}

static uint32_t child_of(struct stack_tree *t, uint32_t parent, const struct table_frame *f)
{
    uint64_t key = (uint64_t)parent << 32 | frame_number(t, f), found;

    if (intmap_get(&t->children, key, &found))
        return (uint32_t)found;
    memory_fit(t->nodes, t->room, t->count + 1);
    t->nodes[t->count] = (struct stack_node){.parent = parent, .frame = (uint32_t)key};
    intmap_put(&t->children, key, t->count);
    return (uint32_t)t->count++;
}

/* A frame of an interpreter itself: of which there are several for each line of Python. */
static bool is_interpreter(const struct table_frame *f)
{
    const char *base = text_base(f->module);

    if (f->flags & TABLE_FRAME_PYTHON)
        return f->file && strncmp(f->file, "<frozen importlib", 17) == 0;
    return base && (strncmp(base, "libpython", 9) == 0 || strncmp(base, "python", 6) == 0);
}

/* The innermost frame stays, whatever it is: memory that an interpreter asks for is asked for by
 * it.
 */
uint32_t stack_tree_leaf(struct stack_tree *t, const struct table_stack *stack, bool native)
{
    size_t count = 0;
    uint32_t node = 0;

    begin(t);
    for (; stack; stack = stack->outer)
        for (int i = 0; i < stack->own; i++) {
            memory_fit(t->path, t->path_room, count + 1);
            if (native || !count || !is_interpreter(&stack->frames[i]))
                t->path[count++] = &stack->frames[i];
        }
    if (!count)
        return child_of(t, 0, &nowhere);
    while (count--)
        node = child_of(t, node, t->path[count]);
    return node;
}

static void add_row(struct stack_tree *t, int row, bool native)
{
    const struct table_cell *stack = table_at(t->table, row, find_column(t->table, UNIT_STACK));
    uint64_t amounts[STACK_TREE_VALUES] = {0}, any = 0;
    uint32_t node;

    for (int i = 0; i < t->values; i++) {
        const struct table_cell *c = table_at(t->table, row, t->columns[i]);

        amounts[i] = c->present ? c->number : 0;
        any |= amounts[i];
    }
    if (!any)
        return;
    node = stack_tree_leaf(t, stack->present ? stack->stack : NULL, native);
    for (int i = 0; i < t->values; i++)
        t->nodes[node].own[i] += amounts[i];
}

/* Children come after their parents. */
static void add_up(struct stack_tree *t)
{
    for (size_t n = 0; n < t->count; n++)
        memcpy(t->nodes[n].all, t->nodes[n].own, sizeof(t->nodes[n].own));
    for (size_t n = t->count; n-- > 1;)
        for (int i = 0; i < t->values; i++)
            t->nodes[t->nodes[n].parent].all[i] += t->nodes[n].all[i];
}

static bool is_small(const struct stack_tree *t, const struct stack_node *n, double part)
{
    for (int i = 0; i < t->values; i++)
        if ((double)n->all[i] >= part * (double)t->nodes[0].all[i] && n->all[i])
            return false;
    return true;
}

static size_t large_count(const struct stack_tree *t, double part)
{
    size_t large = 0;

    for (size_t n = 1; n < t->count; n++)
        large += !is_small(t, &t->nodes[n], part);
    return large;
}

/* Move what is small to one child of the last frame that is not. */
static void fold(struct stack_tree *t)
{
    struct stack_tree whole = *t;
    uint32_t *now = memory_zeroed(whole.count * sizeof(*now));

    t->nodes = NULL;
    t->room = t->count = 0;
    t->children = (struct intmap){0};
    begin(t);
    for (size_t n = 1; n < whole.count; n++) {
        const struct stack_node *w = &whole.nodes[n];
        bool within = t->nodes[now[w->parent]].frame &&
                      t->frames[t->nodes[now[w->parent]].frame] == &smaller;

        if (within)
            now[n] = now[w->parent];
        else
            now[n] = child_of(t, now[w->parent],
                              is_small(&whole, w, t->folded) ? &smaller : whole.frames[w->frame]);
        for (int i = 0; i < t->values; i++)
            t->nodes[now[n]].own[i] += w->own[i];
    }
    free(now);
    free(whole.nodes);
    intmap_free(&whole.children);
    add_up(t);
}

bool stack_tree_make(struct stack_tree *t, const struct answer *a)
{
    static const double parts[] = {1e-6, 1e-5, 1e-4, 3e-4, 1e-3};

    *t = (struct stack_tree){.table = formats_stacks(a)};
    if (!t->table || !choose_columns(t))
        return false;
    begin(t);
    for (int row = 0; row < t->table->rows; row++)
        add_row(t, row, a->native);
    add_up(t);
    if (t->count <= NODES_MOST)
        return true;
    for (int i = 0; i < COUNT(parts) && (!t->folded || large_count(t, t->folded) > NODES_MOST); i++)
        t->folded = parts[i];
    fold(t);
    return true;
}

void stack_tree_free(struct stack_tree *t)
{
    free(t->nodes);
    free(t->frames);
    free(t->same);
    free(t->path);
    intmap_free(&t->children);
    intmap_free(&t->places);
}

const char *stack_frame_name(struct arena *arena, const struct table_frame *f)
{
    const char *base = f->module ? text_base(f->module) : "";

    if (f->flags & TABLE_FRAME_ELIDED)
        return "[frames left out]";
    if (f->flags & TABLE_FRAME_CUT)
        return "[not followed further]";
    if (f->function)
        return f->function;
    return arena_printf(arena, "%s%s0x%" PRIx64, base, *base ? "+" : "", f->address);
}
