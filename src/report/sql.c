/* sql - see sql.h. */
#include "report/sql.h"

#include "base/arena.h"
#include "base/count.h"
#include "report/show.h"
#include "report/stack_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const sql_asks[] = {"summary",   "processes", "timeline", "regions", "threads", "lines",
                                "functions", "cpu",       "waits",    "peak",    "leaks",   "sites",
                                "temporary", "resident",  "steps",    NULL};

struct writing {
    struct sql *sql;
    struct sql_table facts, nodes;
    struct stack_tree tree; /* its nodes are those of the table */
    struct arena texts;
    int tables;
};

/* ---- values ---- */

static struct sql_value of_text(const char *text)
{
    return (struct sql_value){.type = text ? SQL_TEXT : SQL_NULL, .text = text};
}

/* Numbers of 64 bits without a sign do not fit: the largest that does stands for more. */
static struct sql_value of_number(uint64_t number)
{
    return (struct sql_value){.type = SQL_NUMBER,
                              .number = (int64_t)(number > INT64_MAX ? INT64_MAX : number)};
}

/* 0 is none, of a node or a line. */
static struct sql_value of_some(uint64_t number)
{
    return number ? of_number(number) : (struct sql_value){.type = SQL_NULL};
}

static const char *series_text(struct arena *a, const struct table_series *s)
{
    char *text = arena_alloc(a, (size_t)s->count * 21 + 1), *at = text;

    *at = '\0';
    for (int i = 0; i < s->count; i++)
        at += sprintf(at, "%s%" PRIu64, i ? " " : "", s->bytes[i]);
    return text;
}

static struct sql_value of_cell(struct arena *a, const struct table_cell *c)
{
    char text[SHOW_ROOM];

    if (!c->present)
        return of_text(NULL);
    switch (c->unit) {
    case UNIT_TEXT:
        return of_text(c->text);
    case UNIT_SERIES:
        return of_text(series_text(a, c->series));
    case UNIT_MOMENT:
        return of_text(arena_printf(a, "%s", show_plain(text, c)));
    case UNIT_PERCENT:
    case UNIT_REAL:
        if (!isfinite(c->real))
            return of_text(NULL); /* SQL has no word for it */
        show_plain(text, c);
        return (struct sql_value){.type = SQL_REAL,
                                  .real = strtod(text, NULL), /* as sqlite3 would read it */
                                  .text = arena_printf(a, "%s", text)};
    case UNIT_CHANGE:
    case UNIT_LONGER:
        return (struct sql_value){.type = SQL_NUMBER, .number = c->change};
    default:
        return of_number(c->number);
    }
}

/* ---- rows ---- */

/* Each frame of each stack once: a node points to the one of its caller. */
static void put_nodes(struct writing *w, size_t from)
{
    for (size_t n = from ? from : 1; n < w->tree.count; n++) {
        const struct table_frame *f = w->tree.frames[w->tree.nodes[n].frame];
        const struct sql_value values[] = {
            of_number(n),
            of_some(w->tree.nodes[n].parent),
            of_text(f->function),
            of_text(f->file),
            of_some(f->line),
            of_text(f->module),
            of_number(f->flags & TABLE_FRAME_PYTHON ? 1 : 0),
        };

        w->sql->row(w->sql, &w->nodes, values, COUNT(values));
    }
}

static uint32_t stack_of(const struct table *t, int row, struct stack_tree *tree)
{
    for (int i = 0; i < t->width; i++)
        if (t->columns[i].unit == UNIT_STACK && table_at(t, row, i)->present)
            return stack_tree_leaf(tree, table_at(t, row, i)->stack, true);
    return 0;
}

static void put_row(struct writing *w, const struct sql_table *to, const struct table *t, int row,
                    struct sql_value *values)
{
    size_t before = w->tree.count;
    uint32_t node = stack_of(t, row, &w->tree);

    put_nodes(w, before);
    values[0] = of_number((uint64_t)row);
    for (int i = 0; i < t->width; i++)
        values[1 + i] = t->columns[i].unit == UNIT_STACK ? of_some(node)
                                                         : of_cell(&w->texts, table_at(t, row, i));
    w->sql->row(w->sql, to, values, t->width + 1);
}

/* ---- tables ---- */

static struct sql_table put_table(struct writing *w, const char *name, const char *create,
                                  bool keyed)
{
    struct sql_table t = {name, create, keyed, w->tables++};

    w->sql->table(w->sql, &t);
    return t;
}

static const char *type_of(enum table_unit unit)
{
    return unit == UNIT_TEXT || unit == UNIT_SERIES || unit == UNIT_MOMENT ? "TEXT"
         : unit == UNIT_PERCENT || unit == UNIT_REAL                       ? "REAL"
                                                                           : "INTEGER";
}

static const char *statement_of(struct arena *a, const struct table *t)
{
    const char *text = arena_printf(a, "CREATE TABLE \"%s\"(row INTEGER PRIMARY KEY", t->name);

    for (int i = 0; i < t->width; i++)
        text = arena_printf(a, "%s,\"%s\" %s%s", text, t->columns[i].name,
                            type_of(t->columns[i].unit),
                            t->columns[i].unit == UNIT_STACK ? " REFERENCES node(id)" : "");
    return arena_printf(a, "%s)", text);
}

static void put_rows(struct writing *w, const struct table *t)
{
    struct arena scratch = {0};
    struct sql_value *values = arena_alloc(&scratch, ((size_t)t->width + 1) * sizeof(*values));
    struct sql_table to = put_table(w, t->name, statement_of(&scratch, t), true);

    for (int row = 0; row < t->rows; row++)
        put_row(w, &to, t, row, values);
    arena_free(&scratch);
    arena_free(&w->texts);
    w->texts = (struct arena){0};
}

static void put_fact(struct writing *w, const char *of, const char *name, struct sql_value value)
{
    w->sql->row(w->sql, &w->facts, (struct sql_value[]){of_text(of), of_text(name), value}, 3);
}

/* Facts of all tables are one: their cells have units of their own. */
static void put_facts(struct writing *w, const struct table *t)
{
    for (int row = 0; row < t->rows; row++)
        put_fact(w, t->name, table_at(t, row, TABLE_NAME)->text,
                 of_cell(&w->texts, table_at(t, row, TABLE_VALUE)));
}

void sql_write(struct sql *s, const struct answer *a)
{
    struct writing w = {.sql = s};

    w.facts = put_table(&w, "fact", "CREATE TABLE fact(\"table\" TEXT, name TEXT, value)", false);
    w.nodes = put_table(&w, "node",
                        "CREATE TABLE node(id INTEGER PRIMARY KEY, caller INTEGER REFERENCES "
                        "node(id), function TEXT, file TEXT, line INTEGER, module TEXT, "
                        "python INTEGER)",
                        true);
    put_fact(&w, "tidemark", "schema", of_text("1"));
    put_fact(&w, "tidemark", "health", of_text(a->health));
    put_fact(&w, "tidemark", "coverage", of_text(a->coverage ? a->coverage->line : NULL));
    put_fact(&w, "tidemark", "left_out", of_text(a->left_out));
    for (int i = 0; i < a->count; i++)
        if (a->tables[i]->shape == TABLE_FACTS)
            put_facts(&w, a->tables[i]);
        else
            put_rows(&w, a->tables[i]);
    arena_free(&w.texts);
    stack_tree_free(&w.tree);
}
