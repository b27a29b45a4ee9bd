/* table - the answer to a question. Every question fills tables; every format writes tables;
 * neither knows the other.
 *
 * A table is a name, columns (name, unit) and cells. A timeline is a table whose first column is a
 * time; a tree is a table with a depth column. A cell may be absent: shown as "n/a", null or empty,
 * never as 0.
 */
#ifndef QUESTIONS_TABLE_H
#define QUESTIONS_TABLE_H

#include "base/arena.h"
#include "model/values.h"

enum table_unit {
    UNIT_TEXT,    /* cell.text */
    UNIT_COUNT,   /* cell.number */
    UNIT_BYTES,   /* cell.number */
    UNIT_NS,      /* cell.number: a span of time, or a time since the recording began */
    UNIT_ID,      /* cell.number: a pid and the like; never summed, never grouped */
    UNIT_PERCENT, /* cell.real */
    UNIT_REAL,    /* cell.real */
    UNIT_DEPTH,   /* cell.number: depth in the tree of the rows; indents the text column after it */
    UNIT_STACK,   /* cell.stack */
    UNIT_CHANGE,  /* cell.change: bytes more (or less, below 0) than something else */
    UNIT_LONGER,  /* cell.change: the same in ns */
    UNIT_SERIES,  /* cell.series: bytes over time */
    UNIT_MOMENT,  /* cell.number: ns since 1970, UTC; written as a date, to the second */
};

enum table_shape {
    TABLE_ROWS, /* rows and columns */
    /* Two columns, TABLE_NAME and TABLE_VALUE, whose cells carry their unit. A fact NAME_at_least
     * with the fact NAME_at_most after it is one number that is known by its bounds.
     */
    TABLE_FACTS,
    TABLE_TIMELINE, /* the first column, TABLE_TIME, is a time: text draws it as a chart */
    /* The first columns are `file` and `line`, the last is `text`; rows of one file are together.
     * Text shows it as the annotated source, from the answer's sources.
     */
    TABLE_SOURCE,
    /* Two columns of text, TABLE_WHAT and TABLE_LOOK_AT: a sentence, and the question that says
     * more.
     */
    TABLE_FINDINGS,
};

enum { TABLE_TIME };                                /* of a TABLE_TIMELINE */
enum { TABLE_WHAT, TABLE_LOOK_AT };                 /* of TABLE_FINDINGS */
enum { TABLE_NAME, TABLE_VALUE, TABLE_FACT_WIDTH }; /* the columns of TABLE_FACTS */

struct table_column {
    const char *name; /* a JSON key and a heading both: lower_snake */
    enum table_unit unit;
    bool detail; /* text leaves it out where the table is too wide */
};

struct table_cell {
    union {
        uint64_t number;
        double real;
        const char *text;
        const struct table_stack *stack;
        int64_t change;
        const struct table_series *series;
    };
    bool present;
    uint8_t unit; /* for TABLE_FACTS: the unit of this very cell */
};

struct table {
    const char *name;
    enum table_shape shape;
    const struct table_column *columns;
    int width;
    int rows;
    size_t room;              /* for cells */
    struct table_cell *cells; /* rows x width */
    int minor_from, minor;    /* rows that text only counts: see table_find_minor */
    const char *note;         /* one sentence shown below it, or NULL */
};

/* Several tables answer one question: the order is the order of reading. */
struct answer {
    struct arena *arena;  /* the caller's; everything below lives in it */
    const char *question; /* the caller's: what was asked */
    const char *trace;    /* the caller's: the name of its file, without folders; or NULL */
    const char *asked;    /* how the question was narrowed, in sentences; or NULL */
    const char *health;   /* one line on what the trace lacks (cut, damaged, losses), or NULL */
    const struct table_coverage *coverage; /* NULL: nothing was recorded from inside */
    bool native;                           /* the caller's: text shows whole stacks */
    const char **unnamed; /* why functions in it have no name: a sentence for each module */
    int unnamed_count;
    const char *left_out; /* what this reader's limits kept out of it, in one sentence, or NULL */
    uint64_t file_bytes;  /* of the trace, or of both */
    struct table **tables;
    int count;
    const struct table_source *sources; /* what a TABLE_SOURCE shows, by the place of their names */
    size_t source_count;
    struct answer_page { /* the data of the report page, deflated: see docs/PAGE.md */
        const void *bytes;
        size_t count; /* 0: there is none */
        /* Of each space of META.spaces what can be shown in its place; NULL: of none. */
        const struct answer_page *beside;
        size_t beside_count;
    } pages[2]; /* of two traces that are compared: the older one first */
};

struct table *answer_add(struct answer *a, const char *name, enum table_shape shape,
                         const struct table_column *columns, int width);
struct table *answer_facts(struct answer *a, const char *name); /* a TABLE_FACTS */

/* Add one row and return its cells, all absent. */
struct table_cell *table_add(struct answer *a, struct table *t);

/* Rows from `from` on, at the end, whose cell `percent` is shown as 0.0: text counts them, as many
 * hide what matters. A row behind them that adds up the rest stays.
 */
void table_find_minor(struct table *t, int percent, int from);

void cell_number(struct table_cell *c, uint64_t number);
void cell_rounded(struct table_cell *c, double number);
void cell_real(struct table_cell *c, double real);
void cell_change(struct table_cell *c, uint64_t from, uint64_t to); /* to - from */
void cell_text(struct table_cell *c, const char *text);             /* NULL: stays absent */

void cell_stack(struct table_cell *c, const struct table_stack *stack);    /* NULL: stays absent */
void cell_series(struct table_cell *c, const struct table_series *series); /* the same */

/* All its frames in one list, in the arena. */
const struct table_frame *table_stack_whole(struct arena *a, const struct table_stack *stack);

/* NULL where the trace does not have it. A text of a trace is known by its place. */
const struct table_source *answer_source(const struct answer *a, const char *file);
/* NULL where it is not known. */
const char *table_source_line(const struct table_source *s, uint64_t line);

/* "function (file:line)", "function", "module+0x12", "0x1234", with "[guessed]" and the like; in
 * the arena.
 */
const char *table_frame_text(struct arena *a, const struct table_frame *f);
/* The same within a sentence: without folders, what was inlined, and the arguments of a long name.
 */
const char *table_site_text(struct arena *a, const struct table_frame *f);

/* Add the tables of another answer, of the same recording, but for those whose names are there
 * already.
 */
void answer_join(struct answer *a, const struct answer *other);

const struct table_cell *table_at(const struct table *t, int row, int column);

/* The value of a fact; NULL where there is no such fact, or it is absent. */
const struct table_cell *table_find_fact(const struct table *t, const char *name);

/* One row of a TABLE_FACTS table: name and a value to be filled. */
struct table_cell *table_fact(struct answer *a, struct table *t, const char *name,
                              enum table_unit unit);

/* Largest first, by a number or real column; rows of equal value keep their order. */
void table_sort(struct table *t, int column);

/* For timelines with more rows than anybody wants: merge each two rows into one, or the last row
 * into the one before. A merged row holds the larger of each two cells, and the time (TABLE_TIME)
 * at which column 1 was the larger: no peak is lost, and counters stay right.
 */
void table_halve(struct table *t);
void table_fold(struct table *t);

#endif
