/* rows - see rows.h. Columns that are absent in every row are not shown, nor those of detail that
 * do not fit; texts that do not fit lose their middle.
 */
#include "report/rows.h"

#include "base/arena.h"
#include "base/text.h"
#include "report/brief.h"
#include "report/show.h"

#include <limits.h>
#include <string.h>

#define DEPTH_MOST 24 /* deeper rows are drawn at this depth, where room is lacking sooner */
#define TEXT_LEAST 16 /* columns that a text is left with, */
#define CODE_LEAST 20 /* and a line of code, as long as others need room */
#define FRAMES_SHOWN 4

struct layout {
    const struct table *table;
    const struct terminal *terminal;
    int *widths;      /* of each column; 0: not shown */
    int *order;       /* the columns as they are shown */
    uint32_t *open;   /* of each row: bit d, a later row continues the branch of depth d */
    int depth_column; /* -1: no tree */
    int depth_most;
    bool whole, told; /* stacks are shown whole; it was said how they would be */
    bool brief;       /* paths are cut to their last parts */
};

static int depth_of(const struct layout *l, int row)
{
    const struct table_cell *c = table_at(l->table, row, l->depth_column);

    return !c->present ? 0 : c->number < (uint64_t)l->depth_most ? (int)c->number : l->depth_most;
}

/* From the last row up: which branches still go on below each row. */
static void find_branches(struct layout *l)
{
    uint32_t open = 0;

    for (int row = l->table->rows - 1; row >= 0; row--) {
        int depth = depth_of(l, row);

        l->open[row] = open;
        open = (open & ((1u << depth) - 1)) | 1u << depth;
    }
}

static bool is_indented(const struct layout *l, int column)
{
    return l->depth_column >= 0 && column == l->depth_column + 1;
}

static bool is_column(const struct layout *l, int column, const char *const *names)
{
    while (*names && strcmp(l->table->columns[column].name, *names) != 0)
        names++;
    return *names;
}

static const char *shown(const struct layout *l, char text[SHOW_ROOM], int row, int column)
{
    static const char *const paths[] = {"file", "module", NULL};
    const char *all = show_cell(text, table_at(l->table, row, column));

    return l->brief && is_column(l, column, paths) ? brief_path(all) : all;
}

static int cell_width(const struct layout *l, int row, int column)
{
    char text[SHOW_ROOM];
    int width = (int)text_width(shown(l, text, row, column));

    return is_indented(l, column) ? width + 3 * depth_of(l, row) : width;
}

static void measure(struct layout *l)
{
    const struct table *t = l->table;

    for (int column = 0; column < t->width; column++) {
        int widest = (int)strlen(t->columns[column].name);
        bool any = t->rows == 0;

        for (int row = 0; row < t->rows; row++) {
            int width = cell_width(l, row, column);

            widest = width > widest ? width : widest;
            any = any || table_at(t, row, column)->present;
        }
        if (column == l->depth_column || t->columns[column].unit == UNIT_STACK)
            any = false;
        l->widths[column] = any ? widest : 0;
    }
}

static int whole_width(const struct layout *l)
{
    int sum = -TERMINAL_GAP;

    for (int i = 0; i < l->table->width; i++)
        sum += l->widths[i] ? l->widths[i] + TERMINAL_GAP : 0;
    return sum;
}

static bool is_code(const struct layout *l, int column)
{
    static const char *const names[] = {"text", NULL};

    return is_column(l, column, names);
}

/* The column of text that can give up most; -1: none can give any. Where a line of code stands is
 * missed more than the rest of it.
 */
static int widest_text(const struct layout *l)
{
    int widest = -1;

    for (int i = 0; i < l->table->width; i++) {
        if (!show_is_text(l->table->columns[i].unit) || l->widths[i] <= TEXT_LEAST)
            continue;
        if (is_code(l, i) && l->widths[i] > CODE_LEAST)
            return i;
        if (widest < 0 || l->widths[i] > l->widths[widest])
            widest = i;
    }
    return widest;
}

/* Would it fit if its texts were cut to a good part of the line? */
static bool nearly_fits(const struct layout *l)
{
    int texts = 0, needed = whole_width(l), share;

    for (int i = 0; i < l->table->width; i++)
        texts += l->widths[i] && show_is_text(l->table->columns[i].unit);
    share = texts ? l->terminal->width * 2 / 5 / texts : 0;
    share = share < TEXT_LEAST ? TEXT_LEAST : share;
    for (int i = 0; i < l->table->width; i++)
        if (show_is_text(l->table->columns[i].unit) && l->widths[i] > share)
            needed -= l->widths[i] - share;
    return needed <= l->terminal->width;
}

static bool holds_only_zeros(const struct layout *l, int column)
{
    enum table_unit unit = l->table->columns[column].unit;

    for (int row = 0; row < l->table->rows; row++) {
        const struct table_cell *c = table_at(l->table, row, column);

        if (c->present && (unit == UNIT_PERCENT || unit == UNIT_REAL ? c->real > 0 : c->number > 0))
            return false;
    }
    return true;
}

/* What may go where room is lacking; in the end any number but the first two. */
static bool may_go(const struct layout *l, int column, int pass)
{
    const struct table_column *c = &l->table->columns[column];

    if (pass == 0 || c->detail)
        return c->detail;
    if (show_is_text(c->unit) || c->unit == UNIT_ID || column < 2)
        return false;
    return pass == 2 || holds_only_zeros(l, column);
}

/* Columns of detail go, then those of zeros, then others, the last first, until the rest nearly
 * fits; then texts are cut.
 */
static void fit(struct layout *l)
{
    int most = l->terminal->width, column;

    for (int pass = 0; pass < 3; pass++)
        for (int i = l->table->width - 1; i >= 0 && !nearly_fits(l); i--)
            if (may_go(l, i, pass))
                l->widths[i] = 0;
    while (whole_width(l) > most && (column = widest_text(l)) >= 0)
        l->widths[column]--;
}

static void arrange(struct layout *l)
{
    int n = 0;

    for (int text = 0; text <= 1; text++)
        for (int i = 0; i < l->table->width; i++)
            if (show_is_text(l->table->columns[i].unit) == text)
                l->order[n++] = i;
}

/* Where the names were cut, indent only as far as they still have room. */
static void branch(struct layout *l, int wanted)
{
    int has = l->widths[l->depth_column + 1], room = (has - TEXT_LEAST / 2) / 3;

    if (has < wanted)
        l->depth_most = room < 1 ? 1 : room < DEPTH_MOST ? room : DEPTH_MOST;
    find_branches(l);
}

static void put_branch(const struct layout *l, int row, FILE *out)
{
    bool utf8 = l->terminal->utf8;
    int depth = depth_of(l, row);

    for (int d = 1; d < depth; d++)
        fputs(!(l->open[row] >> d & 1) ? "   " : utf8 ? "│  " : "|  ", out);
    if (depth > 0 && l->open[row] >> depth & 1)
        fputs(utf8 ? "├─ " : "|- ", out);
    else if (depth > 0)
        fputs(utf8 ? "└─ " : "`- ", out);
}

static int last_shown(const struct layout *l)
{
    int last = l->table->width - 1;

    while (last > 0 && !l->widths[l->order[last]])
        last--;
    return l->order[last];
}

/* The cell at this place of the order takes the room of texts behind it that are absent, if it
 * needs it: the place of the last one that it takes, and in *width how wide it is with them.
 */
static int reach(const struct layout *l, int row, int place, int *width)
{
    int column = l->order[place], last = place;

    *width = l->widths[column];
    if (!show_is_text(l->table->columns[column].unit))
        return last;
    for (int i = place + 1; i < l->table->width && cell_width(l, row, column) > *width; i++) {
        int next = l->order[i];

        if (!l->widths[next])
            continue;
        if (table_at(l->table, row, next)->present)
            break;
        *width += TERMINAL_GAP + l->widths[next];
        last = i;
    }
    return last;
}

/* Put it, and return the place of the last one whose room it has taken. */
static int put_cell(const struct layout *l, int row, int place, FILE *out)
{
    static const char *const names[] = {"function", "site", "where", "held_most_at_peak", NULL};
    char text[SHOW_ROOM];
    int width, last = reach(l, row, place, &width), column = l->order[place];
    int padding = width - cell_width(l, row, column);
    int room = width - (is_indented(l, column) ? 3 * depth_of(l, row) : 0);
    bool left = show_is_text(l->table->columns[column].unit);

    if (!left)
        terminal_put_padding(out, padding);
    if (is_indented(l, column))
        put_branch(l, row, out);
    if (is_column(l, column, names))
        brief_put(out, shown(l, text, row, column), room, l->terminal);
    else
        terminal_put_within(out, shown(l, text, row, column), room, l->terminal);
    if (left && l->order[last] != last_shown(l))
        terminal_put_padding(out, padding);
    return last;
}

static void put_heading(const struct layout *l, FILE *out)
{
    bool first = true;

    for (int i = 0; i < l->table->width; i++) {
        int column = l->order[i];
        const char *name = l->table->columns[column].name;
        int length = (int)strlen(name) < l->widths[column] ? (int)strlen(name) : l->widths[column];
        int padding = l->widths[column] - length;
        bool left = show_is_text(l->table->columns[column].unit);

        if (!l->widths[column])
            continue;
        terminal_put_padding(out, (first ? 0 : TERMINAL_GAP) + (left ? 0 : padding));
        terminal_put_name(out, name, (size_t)length);
        if (left && column != last_shown(l))
            terminal_put_padding(out, padding);
        first = false;
    }
    fputc('\n', out);
}

static void put_frame(const struct layout *l, const struct table_frame *f, FILE *out)
{
    struct arena scratch = {0};
    int room = l->whole ? INT_MAX : l->terminal->width - 2 * TERMINAL_GAP;

    terminal_put_padding(out, 2 * TERMINAL_GAP);
    brief_put(out, table_frame_text(&scratch, f), room, l->terminal);
    fputc('\n', out);
    arena_free(&scratch);
}

/* The first frames of the program below the row, or all there are. */
static void put_stack(struct layout *l, const struct table_stack *stack, FILE *out)
{
    const struct table_stack *at = stack;
    int shown = 0, folded = 0;

    for (int i = 0; at && (l->whole || shown < FRAMES_SHOWN); i++) {
        if (i == at->own) {
            at = at->outer;
            i = -1; /* and on with its first */
        } else if (l->whole || !(at->frames[i].flags & TABLE_FRAME_MACHINERY)) {
            put_frame(l, &at->frames[i], out);
            shown++;
        }
    }
    folded = stack ? stack->count - shown : 0;
    if (folded) {
        terminal_put_padding(out, 2 * TERMINAL_GAP);
        fprintf(out, "%s %d more%s\n", l->terminal->utf8 ? "…" : "...", folded,
                l->told ? "" : "; --native shows whole stacks");
        l->told = true;
    }
}

static void put_minor(const struct layout *l, FILE *out)
{
    fprintf(out, "%s %d more of 0.0 %% each; --limit %d shows them\n",
            l->terminal->utf8 ? "…" : "...", l->table->minor, l->table->rows);
}

static void put_stacks(struct layout *l, int row, FILE *out)
{
    for (int column = 0; column < l->table->width; column++) {
        const struct table_cell *c = table_at(l->table, row, column);

        if (c->unit == UNIT_STACK && c->present)
            put_stack(l, c->stack, out);
    }
}

void rows_put(const struct table *t, bool whole, const struct terminal *terminal, FILE *out)
{
    struct arena scratch = {0};
    struct layout l = {.table = t,
                       .terminal = terminal,
                       .depth_column = -1,
                       .depth_most = DEPTH_MOST,
                       .whole = whole};
    int wanted;

    for (int i = 0; i + 1 < t->width; i++)
        if (t->columns[i].unit == UNIT_DEPTH)
            l.depth_column = i;
    l.widths = arena_alloc(&scratch, (size_t)t->width * sizeof(*l.widths));
    l.order = arena_alloc(&scratch, (size_t)t->width * sizeof(*l.order));
    l.open = arena_alloc(&scratch, ((size_t)t->rows + 1) * sizeof(*l.open));
    measure(&l);
    if (whole_width(&l) > terminal->width) {
        l.brief = true;
        measure(&l);
    }
    wanted = l.widths[l.depth_column + 1];
    fit(&l);
    arrange(&l);
    if (l.depth_column >= 0)
        branch(&l, wanted);
    if (t->rows)
        put_heading(&l, out);
    for (int row = 0; row < t->rows; row++) {
        bool first = true;

        if (t->minor && row == t->minor_from) {
            put_minor(&l, out);
            row += t->minor - 1;
            continue;
        }
        for (int i = 0; i < t->width; i++) {
            if (!l.widths[l.order[i]])
                continue;
            terminal_put_padding(out, first ? 0 : TERMINAL_GAP);
            i = put_cell(&l, row, i, out);
            first = false;
        }
        fputc('\n', out);
        put_stacks(&l, row, out);
    }
    arena_free(&scratch);
}
