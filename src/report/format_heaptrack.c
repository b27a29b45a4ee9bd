/* format_heaptrack - a recording as heaptrack writes it (version 3 of its data files), for
 * heaptrack_print and heaptrack_gui. The allocations and frees between two moments of `history` are
 * written in an order in which no more lives than truly did: what is freed, what comes and goes,
 * what stays. So the peak, what is leaked, and how much was allocated are ours.
 *
 * Blocks of one row may differ in size: theirs are their mean, and their sum is right.
 */
#include "base/memory.h"
#include "report/formats.h"
#include "report/named.h"
#include "report/stack_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILE_VERSION 3
#define TOOL_VERSION 0x10400
#define PAGE 4096
/* Lines of all rows: above, one stands for several. Recordings have less than 30 for each byte. */
#define BLOCKS_MOST(file_bytes) (((uint64_t)1 << 22) + 64 * (file_bytes))

/* What heaptrack knows by number: a size with a trace, twice. It takes a free that follows the
 * allocation of the same number for that of a temporary block; the second number of the same pair
 * says that it was none.
 */
struct row {
    uint64_t blocks, bytes;
    uint64_t first;     /* number of its pair for blocks of the mean size; + 2: one byte larger */
    uint64_t larger;    /* how many of them are */
    uint64_t temporary; /* of those that come and go between two moments */
    int born, died;     /* died: as many as there are moments, where it lives on */
    uint32_t node;
};

struct track {
    const struct answer *answer;
    FILE *out;
    const struct table *history, *moments;
    struct stack_tree tree;
    struct row *rows;
    size_t strings, pairs;
    struct intmap string_places;
    uint64_t *temporary; /* by node */
};

/* ---- names and stacks ---- */

/* The number of a string, which is written where it is new; 0: none. Texts are kept once each. */
static uint64_t string_of(struct track *t, const char *text)
{
    uint64_t number;

    if (!text || !*text)
        return 0;
    if (intmap_get(&t->string_places, (uintptr_t)text, &number))
        return number;
    fprintf(t->out, "s %zx ", strlen(text));
    for (const char *c = text; *c; c++)
        fputc(*c == '\n' ? ' ' : *c, t->out);
    fputc('\n', t->out);
    intmap_put(&t->string_places, (uintptr_t)text, ++t->strings);
    return t->strings;
}

static void put_frame(struct track *t, const struct table_frame *f, uint64_t number)
{
    uint64_t module = string_of(t, f->module), function = string_of(t, f->function);
    uint64_t file = string_of(t, f->file);

    /* The address names what has no name. */
    fprintf(t->out, "i %" PRIx64 " %" PRIx64, function ? number : f->address, module);
    if (function && file)
        fprintf(t->out, " %" PRIx64 " %" PRIx64 " %" PRIx64, function, file, f->line);
    else if (function)
        fprintf(t->out, " %" PRIx64, function);
    fputc('\n', t->out);
}

/* Its traces are our nodes, by their numbers: parents come before children. */
static void put_stacks(struct track *t)
{
    for (size_t i = 1; i <= t->tree.frame_count; i++)
        put_frame(t, t->tree.frames[i], i);
    for (size_t n = 1; n < t->tree.count; n++)
        fprintf(t->out, "t %" PRIx32 " %" PRIx32 "\n", t->tree.nodes[n].frame,
                t->tree.nodes[n].parent);
}

/* ---- rows ---- */

static void put_pair(struct track *t, uint64_t size, uint32_t node)
{
    for (int i = 0; i < 2; i++)
        fprintf(t->out, "a %" PRIx64 " %" PRIx32 "\n", size, node);
    t->pairs++;
}

static int number_or(const struct table *t, int row, const char *column, int other)
{
    const struct table_cell *c = named_cell(t, row, column);

    return c && c->number < (uint64_t)other ? (int)c->number : other;
}

static uint64_t blocks_per(const struct track *t)
{
    uint64_t all = 0;

    for (int i = 0; i < t->history->rows; i++) {
        const struct table_cell *c = named_cell(t->history, i, "blocks");

        if (__builtin_add_overflow(all, c ? c->number : 0, &all))
            return UINT64_MAX;
    }
    return all / BLOCKS_MOST(t->answer->file_bytes) + 1;
}

static void read_row(struct track *t, int i, uint64_t per)
{
    struct row *r = &t->rows[i];
    const struct table_cell *stack = named_cell(t->history, i, "stack");
    const struct table_cell *blocks = named_cell(t->history, i, "blocks");
    const struct table_cell *bytes = named_cell(t->history, i, "bytes");

    r->blocks = (blocks ? blocks->number : 0) / per;
    r->blocks += !r->blocks;
    r->bytes = bytes ? bytes->number : 0;
    r->larger = r->bytes % r->blocks;
    r->died = number_or(t->history, i, "died", t->moments->rows);
    r->born = number_or(t->history, i, "born", t->moments->rows - 1);
    r->node = stack ? stack_tree_leaf(&t->tree, stack->stack, t->answer->native) : 0;
}

/* Those of a stack that are temporary by our own count are so here, as far as they come and go. */
static void share_temporary(struct track *t)
{
    const struct table *table = named_table(t->answer, "temporary");

    size_t known = t->tree.count; /* those of no row of the history are of no use */

    t->temporary = memory_zeroed((known + 1) * sizeof(*t->temporary));
    for (int i = 0; i < table->rows; i++) {
        const struct table_cell *stack = named_cell(table, i, "stack");
        const struct table_cell *blocks = named_cell(table, i, "blocks");
        uint32_t node = stack ? stack_tree_leaf(&t->tree, stack->stack, t->answer->native)
                              : UINT32_MAX;

        if (node < known)
            t->temporary[node] += blocks ? blocks->number : 0;
    }
    for (int i = 0; i < t->history->rows; i++) {
        struct row *r = &t->rows[i];
        uint64_t *left = &t->temporary[r->node];

        r->temporary = r->born != r->died ? 0 : r->blocks < *left ? r->blocks : *left;
        *left -= r->temporary;
    }
}

static void read_rows(struct track *t)
{
    uint64_t per = blocks_per(t);

    t->rows = memory_zeroed(((size_t)t->history->rows + 1) * sizeof(*t->rows));
    for (int i = 0; i < t->history->rows; i++)
        read_row(t, i, per);
}

static void put_pairs(struct track *t)
{
    for (int i = 0; i < t->history->rows; i++) {
        struct row *r = &t->rows[i];

        r->first = 2 * t->pairs;
        put_pair(t, r->bytes / r->blocks, r->node);
        if (r->larger)
            put_pair(t, r->bytes / r->blocks + 1, r->node);
    }
}

/* ---- events ---- */

static uint64_t pair_of(const struct row *r, uint64_t block)
{
    return r->first + (block < r->larger ? 2 : 0);
}

static void put_all(struct track *t, const struct row *r, char sign)
{
    for (uint64_t i = 0; i < r->blocks; i++)
        fprintf(t->out, "%c %" PRIx64 "\n", sign, pair_of(r, i) + (sign == '-'));
}

static void put_brief(struct track *t, const struct row *r)
{
    for (uint64_t i = 0; i < r->blocks; i++)
        fprintf(t->out, "+ %" PRIx64 "\n- %" PRIx64 "\n", pair_of(r, i),
                pair_of(r, i) + (i >= r->temporary));
}

static int by_birth(const void *left, const void *right, const void *context)
{
    const struct row *rows = context, *a = &rows[*(const int *)left],
                     *b = &rows[*(const int *)right];

    return a->born != b->born ? (a->born < b->born ? -1 : 1)
                              : *(const int *)left - *(const int *)right;
}

static int by_death(const void *left, const void *right, const void *context)
{
    const struct row *rows = context, *a = &rows[*(const int *)left],
                     *b = &rows[*(const int *)right];

    return a->died != b->died ? (a->died < b->died ? -1 : 1)
                              : *(const int *)left - *(const int *)right;
}

static int *sorted(const struct track *t, int (*by)(const void *, const void *, const void *))
{
    int *list = memory_resize(NULL, ((size_t)t->history->rows + 1) * sizeof(*list));

    for (int i = 0; i < t->history->rows; i++)
        list[i] = i;
    memory_sort_with(list, (size_t)t->history->rows, sizeof(*list), by, t->rows);
    return list;
}

static void put_born(struct track *t, const int *births, int from, int to, bool brief)
{
    for (int i = from; i < to; i++) {
        const struct row *r = &t->rows[births[i]];

        if ((r->born == r->died) != brief)
            continue;
        if (brief)
            put_brief(t, r);
        else
            put_all(t, r, '+');
    }
}

static void put_events(struct track *t)
{
    int *births = sorted(t, by_birth), *deaths = sorted(t, by_death), born = 0, died = 0;

    for (int moment = 0; moment < t->moments->rows; moment++) {
        int from = born;

        for (; died < t->history->rows && t->rows[deaths[died]].died == moment; died++)
            if (t->rows[deaths[died]].born < moment)
                put_all(t, &t->rows[deaths[died]], '-');
        while (born < t->history->rows && t->rows[births[born]].born == moment)
            born++;
        put_born(t, births, from, born, true);
        put_born(t, births, from, born, false);
        fprintf(t->out, "c %" PRIx64 "\n",
                (uint64_t)(named_number(t->moments, moment, "time") / 1e6));
    }
    free(births);
    free(deaths);
}

static void write_heaptrack(const struct answer *a, FILE *out)
{
    struct track t = {.answer = a,
                      .out = out,
                      .history = named_table(a, "history"),
                      .moments = named_table(a, "moments")};
    const struct table_cell *command = table_find_fact(named_table(a, "facts"), "command");

    fprintf(out, "v %x %x\nX %s\nI %x 0\n", TOOL_VERSION, FILE_VERSION,
            command ? command->text : "?", PAGE);
    read_rows(&t);
    share_temporary(&t);
    put_stacks(&t);
    put_pairs(&t);
    put_events(&t);
    stack_tree_free(&t.tree);
    intmap_free(&t.string_places);
    free(t.temporary);
    free(t.rows);
}

static const char *const asks[] = {"history", "temporary", "summary", NULL};

const struct format format_heaptrack = {
    .name = "heaptrack",
    .summary = "a data file of heaptrack, for heaptrack_print and heaptrack_gui",
    .question = "history",
    .asks = asks,
    .write = write_heaptrack,
};
