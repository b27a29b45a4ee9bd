/* table - the answer to a question. Every question fills tables; every format writes tables;
 * neither knows the other.
 *
 * A table is a name, columns (name, unit) and cells. A timeline is a table whose first column is a
 * time; a tree is a table with a depth column. A cell may be absent: shown as "n/a", null or empty,
 * never as 0.
 */
#ifndef ANALYZE_TABLE_H
#define ANALYZE_TABLE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

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
    UNIT_SERIES,  /* cell.series: bytes over time */
};

enum table_frame_flags {
    TABLE_FRAME_INLINED = 1, /* into the frame after it */
    TABLE_FRAME_GUESSED = 2, /* found without unwind data */
    TABLE_FRAME_ELIDED = 4,  /* no frame: some were left out here */
    TABLE_FRAME_CUT = 8,     /* no frame: the stack could not be followed further */
    TABLE_FRAME_PYTHON = 16, /* a line of Python */
};

struct table_frame {
    const char *function, *file, *module; /* each may be NULL */
    uint64_t line;                        /* 0: not known */
    uint64_t address;                     /* in the module, else in memory */
    unsigned int flags;
};

struct table_stack {
    int count;
    const struct table_frame *frames; /* the innermost first */
};

/* The largest of each of `count` equal steps from from_ns on; steps without a change are there. */
struct table_series {
    uint64_t from_ns, step_ns;
    int count;
    const uint64_t *bytes;
};

/* The text of a source file, as it was when the recording ended. */
struct table_source {
    const char *file;
    uint64_t lines;          /* the last that is known */
    const char *const *text; /* lines 1 .. lines, at 0 and on; NULL: not known */
    bool changed;            /* after the recording began */
};

enum table_shape {
    TABLE_ROWS, /* rows and columns */
    /* Two columns, name and value; `value` cells carry their unit. A fact NAME_at_least with the
     * fact NAME_at_most after it is one number that is known by its bounds.
     */
    TABLE_FACTS,
    TABLE_TIMELINE, /* the first column is a time: text draws it as a chart */
    /* The first columns are `file` and `line`, the last is `text`; rows of one file are together.
     * Text shows it as the annotated source, from the answer's sources.
     */
    TABLE_SOURCE,
};

struct table_column {
    const char *name; /* a JSON key and a heading both: lower_snake */
    enum table_unit unit;
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
    int rows, room;
    struct table_cell *cells; /* rows x width */
    const char *note;         /* one sentence shown below it, or NULL */
    uint64_t detail; /* bit i: text leaves column i out where the table is too wide for it */
};

#define TABLE_MISSING_MOST 16

/* Who was recorded from inside. A process counts once, whatever it runs by exec(2). */
struct table_coverage {
    uint64_t processes;
    uint64_t recorded, partly; /* wholly; with a part of it, or some of its programs, missing */
    uint64_t silent;           /* nothing kept them from being recorded, but nothing came */
    const char *how;           /* "exactly", "sampled", "exactly and sampled" or "CPU time alone" */
    struct table_missing {
        const char *reason;
        uint64_t processes; /* here what a process becomes by exec(2) counts again */
    } missing[TABLE_MISSING_MOST];
    int missing_count;
    uint64_t losses, pauses;
    const char *line; /* all of it, in one line */
};

/* Several tables answer one question: the order is the order of reading. */
struct answer {
    struct arena *arena;  /* the caller's; everything below lives in it */
    const char *question; /* the caller's: what was asked */
    const char *health;   /* one line on what the trace lacks (cut, damaged, losses), or NULL */
    const struct table_coverage *coverage; /* NULL: nothing was recorded from inside */
    struct table **tables;
    int count;
    const struct table_source *sources; /* what a TABLE_SOURCE shows */
    size_t source_count;
};

struct table *answer_add(struct answer *a, const char *name, enum table_shape shape,
                         const struct table_column *columns, int width);

/* Add one row and return its cells, all absent. */
struct table_cell *table_add(struct answer *a, struct table *t);

void cell_number(struct table_cell *c, uint64_t number);
void cell_rounded(struct table_cell *c, double number);
void cell_real(struct table_cell *c, double real);
void cell_change(struct table_cell *c, uint64_t from, uint64_t to); /* to - from */
void cell_text(struct table_cell *c, const char *text);             /* NULL: stays absent */

void cell_stack(struct table_cell *c, const struct table_stack *stack);    /* NULL: stays absent */
void cell_series(struct table_cell *c, const struct table_series *series); /* the same */

/* NULL where the trace does not have it. */
const struct table_source *answer_source(const struct answer *a, const char *file);
/* NULL where it is not known. */
const char *table_source_line(const struct table_source *s, uint64_t line);

/* "function (file:line)", "function", "module+0x12", "0x1234", with "[guessed]" and the like; in
 * the arena.
 */
const char *table_frame_text(struct arena *a, const struct table_frame *f);

/* One row of a TABLE_FACTS table: name and a value to be filled. */
struct table_cell *table_fact(struct answer *a, struct table *t, const char *name,
                              enum table_unit unit);

/* Largest first, by a number or real column; rows of equal value keep their order. */
void table_sort(struct table *t, int column);

/* For timelines with more rows than anybody wants: merge each two rows into one, or the last row
 * into the one before. A merged row holds the larger of each two cells, and the time (column 0) at
 * which column 1 was the larger: no peak is lost, and counters stay right.
 */
void table_halve(struct table *t);
void table_fold(struct table *t);

#endif
