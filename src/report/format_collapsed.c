/* format_collapsed - stacks for flame graphs, as flamegraph.pl, inferno and speedscope read them:
 *
 * outermost;...;innermost BYTES
 *
 * One line per stack of the first table that has stacks, with its bytes, or its time in ns where it
 * has none. Stacks of 0 are left out; see stack_tree.h for what else is. Names that inlining gave
 * are frames of their own. What would end a name is replaced: ';' by ':', controls and what is not
 * UTF-8 by '?'.
 */
#include "base/utf8.h"
#include "report/formats.h"
#include "report/stack_tree.h"

#include <inttypes.h>
#include <stdlib.h>

static void put_name(const char *name, FILE *out)
{
    while (*name) {
        const char *shown;
        int n = utf8_show(&name, &shown);

        if (*shown == ';')
            fputc(':', out);
        else
            fwrite(shown, 1, (size_t)n, out);
    }
}

static void put_frame(const struct table_frame *f, FILE *out)
{
    struct arena scratch = {0};

    put_name(stack_frame_name(&scratch, f), out);
    if (f->function && f->flags & TABLE_FRAME_PYTHON && f->file) {
        fputs(" (", out);
        put_name(f->file, out);
        fprintf(out, ":%" PRIu64 ")", f->line);
    }
    arena_free(&scratch);
}

/* The column of bytes, else of time, among those that are summed. */
static int find_value(const struct stack_tree *t)
{
    static const enum table_unit units[] = {UNIT_BYTES, UNIT_NS};

    for (int u = 0; u < 2; u++)
        for (int i = 0; i < t->values; i++)
            if (t->table->columns[t->columns[i]].unit == units[u])
                return i;
    return 0;
}

static void put_stack(const struct stack_tree *t, uint32_t node, uint64_t value, uint32_t *path,
                      FILE *out)
{
    size_t count = 0;

    for (; node; node = t->nodes[node].parent)
        path[count++] = t->nodes[node].frame;
    while (count--) {
        put_frame(t->frames[path[count]], out);
        fputs(count ? ";" : "", out);
    }
    fprintf(out, " %" PRIu64 "\n", value);
}

static void write_collapsed(const struct answer *a, FILE *out)
{
    struct stack_tree t;
    uint32_t *path;

    if (!stack_tree_make(&t, a)) {
        stack_tree_free(&t);
        return;
    }
    path = memory_zeroed(t.count * sizeof(*path));
    for (uint32_t n = 1, value = (uint32_t)find_value(&t); n < t.count; n++)
        if (t.nodes[n].own[value])
            put_stack(&t, n, t.nodes[n].own[value], path, out);
    free(path);
    stack_tree_free(&t);
}

const struct format format_collapsed = {
    .name = "collapsed",
    .summary = "one line per stack with its bytes or its time in ns, for flame graphs",
    .stacks = true,
    .write = write_collapsed,
};
