/* format_massif - a recording as massif writes it, for ms_print and massif-visualizer: a snapshot
 * for each moment of `history`; that of the peak, and some others, with the tree of who called the
 * allocators, from the innermost function outwards.
 */
#include "base/memory.h"
#include "report/formats.h"
#include "report/named.h"
#include "report/stack_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* As massif itself does. */
#define DETAILED_EACH 10
#define LEAST_PART 100 /* 1 %: children that have less of a snapshot are summed up */
#define DEPTH_MOST 30  /* of stacks */

struct node {                     /* of the tree from the innermost frame outwards; 0 is the root */
    uint32_t parent, child, next; /* child: the first; next: sibling */
    const struct table_frame *frame;
    uint64_t bytes; /* of one snapshot */
};

struct massif {
    const struct answer *answer;
    FILE *out;
    const struct table *history, *moments;
    struct stack_tree stacks;
    struct node *nodes;
    size_t count, room;
    struct intmap places;
    uint32_t *node_of; /* by row */
    uint32_t *list;    /* children, to be sorted */
    size_t list_room;
    int peak; /* the moment */
};

/* ---- the tree ---- */

static uint32_t child_of(struct massif *m, uint32_t parent, uint32_t frame)
{
    uint64_t key = (uint64_t)parent << 32 | frame, found;

    if (intmap_get(&m->places, key, &found))
        return (uint32_t)found;
    memory_fit(m->nodes, m->room, m->count + 1);
    m->nodes[m->count] = (struct node){
        .parent = parent, .next = m->nodes[parent].child, .frame = m->stacks.frames[frame]};
    m->nodes[parent].child = (uint32_t)m->count;
    intmap_put(&m->places, key, m->count);
    return (uint32_t)m->count++;
}

static uint32_t place_of(struct massif *m, const struct table_cell *stack)
{
    uint32_t node = 0,
             at = stack_tree_leaf(&m->stacks, stack ? stack->stack : NULL, m->answer->native);

    for (int depth = 0; at && depth < DEPTH_MOST; depth++) {
        node = child_of(m, node, m->stacks.nodes[at].frame);
        at = m->stacks.nodes[at].parent;
    }
    return node;
}

static void read_stacks(struct massif *m)
{
    memory_fit(m->nodes, m->room, 1);
    m->nodes[m->count++] = (struct node){0};
    m->node_of = memory_zeroed(((size_t)m->history->rows + 1) * sizeof(*m->node_of));
    for (int i = 0; i < m->history->rows; i++)
        m->node_of[i] = place_of(m, named_cell(m->history, i, "stack"));
}

/* What lives at a moment. */
static void add_up(struct massif *m, int moment)
{
    int born = named_column(m->history, "born"), died = named_column(m->history, "died"),
        bytes = named_column(m->history, "bytes");

    for (size_t n = 0; n < m->count; n++)
        m->nodes[n].bytes = 0;
    for (int i = 0; i < m->history->rows; i++) {
        const struct table_cell *end = table_at(m->history, i, died);

        if (table_at(m->history, i, born)->number <= (uint64_t)moment &&
            (!end->present || end->number > (uint64_t)moment))
            m->nodes[m->node_of[i]].bytes += table_at(m->history, i, bytes)->number;
    }
    for (size_t n = m->count; n-- > 1;)
        m->nodes[m->nodes[n].parent].bytes += m->nodes[n].bytes;
}

/* ---- what is written ---- */

static int by_bytes(const void *left, const void *right, const void *context)
{
    const struct node *nodes = context;
    uint64_t a = nodes[*(const uint32_t *)left].bytes, b = nodes[*(const uint32_t *)right].bytes;

    return a != b ? (a > b ? -1 : 1) : *(const uint32_t *)left > *(const uint32_t *)right ? 1 : -1;
}

struct children {
    size_t first, count; /* in m->list: those that are shown */
    uint64_t small_bytes;
    int small;
};

static struct children find_children(struct massif *m, uint32_t node, size_t first)
{
    struct children c = {.first = first};

    for (uint32_t at = m->nodes[node].child; at; at = m->nodes[at].next) {
        uint64_t bytes = m->nodes[at].bytes;

        if (bytes && bytes >= m->nodes[0].bytes / LEAST_PART) {
            memory_fit(m->list, m->list_room, first + c.count + 1);
            m->list[first + c.count++] = at;
        } else if (bytes) {
            c.small++;
            c.small_bytes += bytes;
        }
    }
    if (c.count)
        memory_sort_with(m->list + first, c.count, sizeof(*m->list), by_bytes, m->nodes);
    return c;
}

static void put_words(const char *text, FILE *out)
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void put_frame(const struct table_frame *f, struct massif *m)
{
    fprintf(m->out, " 0x%" PRIX64 ": ", f->address);
    put_words(stack_frame_name(m->answer->arena, f), m->out);
    if (f->file && f->line) {
        fputs(" (", m->out);
        put_words(f->file, m->out);
        fprintf(m->out, ":%" PRIu64 ")", f->line);
    } else if (f->module) {
        fputs(" (in ", m->out);
        put_words(f->module, m->out);
        fputc(')', m->out);
    }
    fputc('\n', m->out);
}

/* A node and what is below it. It is no deeper than DEPTH_MOST. */
static void put_tree(struct massif *m, uint32_t node, int depth, size_t first)
{
    struct children c = find_children(m, node, first);

    fprintf(m->out, "%*sn%zu: %" PRIu64, depth, "", c.count + (c.small > 0), m->nodes[node].bytes);
    if (node)
        put_frame(m->nodes[node].frame, m);
    else
        fputs(" (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", m->out);
    for (size_t i = 0; i < c.count; i++)
        put_tree(m, m->list[first + i], depth + 1, first + c.count);
    if (c.small)
        fprintf(m->out, "%*sn0: %" PRIu64 " in %d place%s, below massif's threshold (1.00%%)\n",
                depth + 1, "", c.small_bytes, c.small, c.small > 1 ? "s" : "");
}

static void put_snapshot(struct massif *m, int moment)
{
    bool peak = moment == m->peak, detailed = peak || moment % DETAILED_EACH == DETAILED_EACH - 1;

    fprintf(m->out,
            "#-----------\nsnapshot=%d\n#-----------\ntime=%.0f\nmem_heap_B=%.0f\n"
            "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
            moment, named_number(m->moments, moment, "time") / 1e6,
            named_number(m->moments, moment, "live"),
            peak       ? "peak"
            : detailed ? "detailed"
                       : "empty");
    if (!detailed)
        return;
    add_up(m, moment);
    put_tree(m, 0, 0, 0);
}

static int find_peak(const struct table *moments)
{
    int peak = 0;

    for (int i = 1; i < moments->rows; i++)
        if (named_number(moments, i, "live") > named_number(moments, peak, "live"))
            peak = i;
    return peak;
}

static void put_head(struct massif *m)
{
    const struct table_cell *command = table_find_fact(named_table(m->answer, "facts"), "command");

    fputs("desc: by tidemark\ncmd: ", m->out);
    put_words(command ? command->text : "?", m->out);
    fputs("\ntime_unit: ms\n", m->out);
}

static void write_massif(const struct answer *a, FILE *out)
{
    struct massif m = {.answer = a,
                       .out = out,
                       .history = named_table(a, "history"),
                       .moments = named_table(a, "moments")};

    m.peak = find_peak(m.moments);
    put_head(&m);
    read_stacks(&m);
    for (int i = 0; i < m.moments->rows; i++)
        put_snapshot(&m, i);
    if (!m.moments->rows) /* its readers want one */
        fputs("#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=0\nmem_heap_extra_B=0\n"
              "mem_stacks_B=0\nheap_tree=empty\n",
              out);
    stack_tree_free(&m.stacks);
    intmap_free(&m.places);
    free(m.nodes);
    free(m.node_of);
    free(m.list);
}

static const char *const asks[] = {"history", "summary", NULL};

const struct format format_massif = {
    .name = "massif",
    .summary = "an output file of massif, for ms_print and massif-visualizer",
    .question = "history",
    .asks = asks,
    .write = write_massif,
};
