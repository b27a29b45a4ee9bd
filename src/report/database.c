/* database - see database.h. Rows come with rising keys: a table's leaves are filled one after the
 * other, and the pages above them are made when all are there.
 */
#include "report/database.h"

#include "base/arena.h"
#include "base/count.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096u
#define LEAF 0x0d
#define INTERIOR 0x05
#define LEAF_HEAD 8u
#define INTERIOR_HEAD 12u
#define VARINT_MOST 9u
#define CHILDREN_MOST 250u /* of an interior page: each takes 15 bytes at most */
#define LOCAL_MOST (PAGE - 35)
#define LOCAL_LEAST ((PAGE - 12) * 32 / 255 - 23)
#define FILE_HEAD 100u

struct child {
    uint32_t page;
    int64_t key; /* the largest in it */
};

struct tree {
    const char *name, *create;
    unsigned char leaf[PAGE]; /* that is being filled */
    unsigned int cells, bottom;
    int64_t key; /* of the last row */
    struct child *children;
    size_t count, room;
};

struct bytes {
    unsigned char *data;
    size_t count, room;
};

struct database {
    struct bytes file;   /* whole pages; the first is made last */
    struct bytes record; /* of the row that is being put */
    struct arena texts;
    struct tree **trees; /* by place */
    size_t count, room;
};

/* ---- bytes ---- */

static unsigned char *extend(struct bytes *b, size_t count)
{
    memory_fit(b->data, b->room, b->count + count);
    b->count += count;
    return b->data + b->count - count;
}

static void put_big(unsigned char *to, uint64_t number, unsigned int bytes)
{
    for (unsigned int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(number >> 8 * (bytes - 1 - i));
}

/* Seven bits a byte, the highest first; the ninth has eight. */
static unsigned int put_varint(unsigned char *to, uint64_t number)
{
    unsigned int count = 1;

    if (number >> 56) {
        for (unsigned int i = 0; i < 8; i++)
            to[i] = (unsigned char)(number >> (57 - 7 * i)) | 0x80;
        to[8] = (unsigned char)number;
        return 9;
    }
    while (number >> 7 * count)
        count++;
    for (unsigned int i = 0; i < count; i++)
        to[i] = (number >> 7 * (count - 1 - i) & 0x7f) | (i + 1 < count ? 0x80 : 0);
    return count;
}

/* Returns its number, from 1. */
static uint32_t add_page(struct database *d, const unsigned char page[PAGE])
{
    memcpy(extend(&d->file, PAGE), page, PAGE);
    return (uint32_t)(d->file.count / PAGE);
}

/* ---- a row, as one record ---- */

static unsigned int bytes_of(int64_t number)
{
    for (unsigned int bytes = 1; bytes <= 4; bytes++)
        if (number >= -(1ll << (8 * bytes - 1)) && number < 1ll << (8 * bytes - 1))
            return bytes;
    return number >= -(1ll << 47) && number < 1ll << 47 ? 6 : 8;
}

/* The type says how many bytes the value has. */
static uint64_t type_of(const struct sql_value *v)
{
    static const unsigned char of_bytes[] = {[1] = 1, [2] = 2, [3] = 3, [4] = 4, [6] = 5, [8] = 6};

    return v->type == SQL_NULL   ? 0
         : v->type == SQL_NUMBER ? of_bytes[bytes_of(v->number)]
         : v->type == SQL_REAL   ? 7
                                 : 13 + 2 * (uint64_t)strlen(v->text);
}

static void put_value(struct bytes *b, const struct sql_value *v)
{
    uint64_t bits;

    if (v->type == SQL_TEXT) {
        size_t bytes = strlen(v->text);

        memcpy(extend(b, bytes), v->text, bytes);
    } else if (v->type == SQL_REAL) {
        memcpy(&bits, &v->real, sizeof(bits));
        put_big(extend(b, 8), bits, 8);
    } else if (v->type == SQL_NUMBER) {
        unsigned int bytes = bytes_of(v->number);

        put_big(extend(b, bytes), (uint64_t)v->number, bytes);
    }
}

/* The key of a table stands outside of the record, where NULL is in its place. */
static void make_record(struct bytes *b, const struct sql_value *values, int count, bool keyed)
{
    static const struct sql_value null = {.type = SQL_NULL};
    unsigned char varint[VARINT_MOST];
    size_t head = 0, total;

    for (int i = 0; i < count; i++)
        head += put_varint(varint, type_of(keyed && !i ? &null : &values[i]));
    total = head + 1;
    while (put_varint(varint, total) != total - head) /* its length counts itself */
        total = head + put_varint(varint, total);
    b->count = 0;
    memcpy(extend(b, total - head), varint, total - head);
    for (int i = 0; i < count; i++) {
        unsigned int bytes = put_varint(varint, type_of(keyed && !i ? &null : &values[i]));

        memcpy(extend(b, bytes), varint, bytes);
    }
    for (int i = keyed; i < count; i++)
        put_value(b, &values[i]);
}

/* ---- pages ---- */

static void begin_page(unsigned char page[PAGE], size_t at, unsigned char kind)
{
    memset(page + at, 0, PAGE - at);
    page[at] = kind;
}

static void end_page(unsigned char *head, unsigned int cells, unsigned int bottom)
{
    put_big(head + 3, cells, 2);
    put_big(head + 5, bottom, 2);
}

static void end_leaf(struct database *d, struct tree *t)
{
    end_page(t->leaf, t->cells, t->bottom);
    memory_fit(t->children, t->room, t->count + 1);
    t->children[t->count++] = (struct child){add_page(d, t->leaf), t->key};
    begin_page(t->leaf, 0, LEAF);
    t->cells = 0;
    t->bottom = PAGE;
}

/* What does not fit beside others is a chain of pages of its own. Returns the first. */
static uint32_t put_overflow(struct database *d, const unsigned char *from, size_t bytes)
{
    uint32_t first = (uint32_t)(d->file.count / PAGE) + 1, next = first;

    while (bytes) {
        size_t part = bytes < PAGE - 4 ? bytes : PAGE - 4;
        unsigned char page[PAGE] = {0};

        next++;
        put_big(page, part < bytes ? next : 0, 4);
        memcpy(page + 4, from, part);
        add_page(d, page);
        from += part;
        bytes -= part;
    }
    return first;
}

static size_t local_of(size_t bytes)
{
    size_t part = LOCAL_LEAST + (bytes - LOCAL_LEAST) % (PAGE - 4);

    return bytes <= LOCAL_MOST ? bytes : part <= LOCAL_MOST ? part : LOCAL_LEAST;
}

static void put_cell(struct database *d, struct tree *t, int64_t key)
{
    const struct bytes *r = &d->record;
    unsigned char head[2 * VARINT_MOST];
    size_t heads = put_varint(head, r->count), local = local_of(r->count), all;

    heads += put_varint(head + heads, (uint64_t)key);
    all = heads + local + (local < r->count ? 4 : 0);
    if (LEAF_HEAD + 2 * (t->cells + 1) + all > t->bottom)
        end_leaf(d, t);
    t->bottom -= (unsigned int)all;
    memcpy(t->leaf + t->bottom, head, heads);
    memcpy(t->leaf + t->bottom + heads, r->data, local);
    if (local < r->count)
        put_big(t->leaf + t->bottom + heads + local,
                put_overflow(d, r->data + local, r->count - local), 4);
    put_big(t->leaf + LEAF_HEAD + 2 * t->cells++, t->bottom, 2);
    t->key = key;
}

static uint32_t put_interior(struct database *d, const struct child *children, size_t count)
{
    unsigned char page[PAGE];
    unsigned int bottom = PAGE;

    begin_page(page, 0, INTERIOR);
    for (size_t i = 0; i + 1 < count; i++) {
        unsigned char cell[4 + VARINT_MOST];
        unsigned int bytes = 4 + put_varint(cell + 4, (uint64_t)children[i].key);

        put_big(cell, children[i].page, 4);
        bottom -= bytes;
        memcpy(page + bottom, cell, bytes);
        put_big(page + INTERIOR_HEAD + 2 * i, bottom, 2);
    }
    end_page(page, (unsigned int)count - 1, bottom);
    put_big(page + 8, children[count - 1].page, 4);
    return add_page(d, page);
}

/* The pages of one level become the children of the next, as evenly as they can. Returns the root.
 */
static uint32_t end_tree(struct database *d, struct tree *t)
{
    if (t->cells || !t->count)
        end_leaf(d, t);
    while (t->count > 1) {
        size_t pages = (t->count + CHILDREN_MOST - 1) / CHILDREN_MOST, from = 0;

        for (size_t i = 0; i < pages; i++) {
            size_t to = t->count * (i + 1) / pages;
            struct child above = {put_interior(d, t->children + from, to - from),
                                  t->children[to - 1].key};

            t->children[i] = above;
            from = to;
        }
        t->count = pages;
    }
    return t->children[0].page;
}

/* ---- tables ---- */

static struct tree *new_tree(void)
{
    struct tree *t = memory_zeroed(sizeof(*t));

    begin_page(t->leaf, 0, LEAF);
    t->bottom = PAGE;
    return t;
}

static void free_tree(struct tree *t)
{
    free(t->children);
    free(t);
}

struct database *database_begin(void)
{
    struct database *d = memory_zeroed(sizeof(*d));

    extend(&d->file, PAGE);
    return d;
}

void database_table(struct database *d, const struct sql_table *t)
{
    struct tree *tree = new_tree();

    tree->name = arena_printf(&d->texts, "%s", t->name);
    tree->create = arena_printf(&d->texts, "%s", t->create);
    d->count = (size_t)t->place + 1;
    memory_fit(d->trees, d->room, d->count);
    d->trees[t->place] = tree;
}

void database_row(struct database *d, const struct sql_table *t, const struct sql_value *values,
                  int count)
{
    struct tree *tree = d->trees[t->place];

    make_record(&d->record, values, count, t->keyed);
    put_cell(d, tree, t->keyed ? values[0].number : tree->key + 1);
}

/* ---- the whole ---- */

/* What tables there are is a table, too. */
static uint32_t put_schema(struct database *d)
{
    struct tree *schema = new_tree();
    uint32_t root;

    for (size_t i = 0; i < d->count; i++) {
        const struct tree *t = d->trees[i];
        struct sql_value values[] = {{SQL_TEXT, .text = "table"},
                                     {SQL_TEXT, .text = t->name},
                                     {SQL_TEXT, .text = t->name},
                                     {SQL_NUMBER, .number = end_tree(d, d->trees[i])},
                                     {SQL_TEXT, .text = t->create}};

        make_record(&d->record, values, 5, false);
        put_cell(d, schema, (int64_t)i + 1);
    }
    root = end_tree(d, schema);
    free_tree(schema);
    return root;
}

/* The first page has less room than others: it only leads to the schema. */
static void put_head(struct database *d, uint32_t schema)
{
    static const struct {
        unsigned char at, bytes;
        uint32_t value;
    } words[] = {
        {16, 2, PAGE}, {18, 1, 1},       {19, 1, 1}, /* of pages; to write and to read it */
        {21, 1, 64},   {22, 1, 32},      {23, 1, 32}, {24, 4, 1}, /* of changes */
        {40, 4, 1},    {44, 4, 4},       {56, 4, 1}, /* of the schema; its format; UTF-8 */
        {92, 4, 1},    {96, 4, 3040000},             /* made by such a version */
    };
    unsigned char *page = d->file.data;

    begin_page(page, 0, 0);
    memcpy(page, "SQLite format 3", 16);
    for (size_t i = 0; i < COUNT(words); i++)
        put_big(page + words[i].at, words[i].value, words[i].bytes);
    put_big(page + 28, d->file.count / PAGE, 4);
    begin_page(page, FILE_HEAD, INTERIOR);
    end_page(page + FILE_HEAD, 0, PAGE);
    put_big(page + FILE_HEAD + 8, schema, 4);
}

void database_end(struct database *d, FILE *out)
{
    put_head(d, put_schema(d));
    fwrite(d->file.data, 1, d->file.count, out);
    for (size_t i = 0; i < d->count; i++)
        free_tree(d->trees[i]);
    arena_free(&d->texts);
    free(d->trees);
    free(d->file.data);
    free(d->record.data);
    free(d);
}
