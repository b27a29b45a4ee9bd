/* sqlite - see sqlite.h.
 *
 * A table is a tree of pages: inner ones hold numbers of pages, leaves hold rows. A row is a
 * length, a row number, a header of types and the values; what does not fit its page goes on in
 * overflow pages.
 */
#include "import/sqlite.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define HEADER 100
#define INNER 5
#define LEAF 13
#define DEPTH_MOST 32

struct database {
    const unsigned char *bytes;
    size_t size, page, usable;
    uint32_t pages;
    unsigned char *seen; /* by page: it was read */
    unsigned char *row;  /* of one that goes on in other pages */
    size_t row_room;
    bool damaged;
    sqlite_take *take;
    void *context;
};

bool sqlite_knows(const unsigned char *bytes, size_t size)
{
    return size >= HEADER && memcmp(bytes, "SQLite format 3", 16) == 0;
}

static uint32_t big(const unsigned char *p, int count)
{
    uint32_t n = 0;

    while (count--)
        n = n << 8 | *p++;
    return n;
}

/* Big-endian, seven bits in each of up to eight bytes, eight in the ninth; how many, or 0. */
static size_t varint(const unsigned char *p, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < 9 && p + i < end; i++) {
        if (i == 8) {
            *value = *value << 8 | p[i];
            return 9;
        }
        *value = *value << 7 | (p[i] & 0x7f);
        if (!(p[i] & 0x80))
            return i + 1;
    }
    return 0;
}

/* A page that was not read before; NULL: there is none, and the file is damaged. */
static const unsigned char *page_of(struct database *d, uint32_t number)
{
    if (!number || number > d->pages || d->seen[number]) {
        d->damaged = true;
        return NULL;
    }
    d->seen[number] = 1;
    return d->bytes + (size_t)(number - 1) * d->page;
}

/* ---- a row ---- */

/* Bytes that a type takes. */
static uint64_t bytes_of(uint64_t type)
{
    static const unsigned char fixed[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

    return type < 12 ? fixed[type] : (type - 12) / 2;
}

static void fill(struct sqlite_cell *c, uint64_t type, const unsigned char *p)
{
    uint64_t n = type >= 1 && type <= 6 && p[0] & 0x80 ? UINT64_MAX : 0;

    *c = (struct sqlite_cell){.present = type != 0, .text = type >= 12};
    if (type >= 12) {
        c->bytes = (const char *)p;
        c->length = bytes_of(type);
        return;
    }
    for (uint64_t i = 0; i < bytes_of(type) && type <= 6; i++)
        n = n << 8 | p[i];
    c->number = type == 9 ? 1 : (int64_t)n;
}

static bool take_row(struct database *d, const unsigned char *p, size_t size)
{
    struct sqlite_cell cells[SQLITE_COLUMNS_MOST];
    uint64_t header, type;
    size_t at = varint(p, p + size, &header), value;
    int count = 0;

    if (!at || header > size)
        return false;
    for (value = header; at < header && count < SQLITE_COLUMNS_MOST; count++) {
        size_t used = varint(p + at, p + header, &type);

        if (!used || type == 10 || type == 11 || bytes_of(type) > size - value)
            return false;
        at += used;
        fill(&cells[count], type, p + value);
        value += bytes_of(type);
    }
    d->take(d->context, cells, count);
    return true;
}

/* The rest of a row from overflow pages. */
static bool gather(struct database *d, size_t have, size_t size, uint32_t next)
{
    while (have < size) {
        const unsigned char *page = page_of(d, next);
        size_t part = size - have < d->usable - 4 ? size - have : d->usable - 4;

        if (!page)
            return false;
        memory_fit(d->row, d->row_room, have + part);
        memcpy(d->row + have, page + 4, part);
        have += part;
        next = big(page, 4);
    }
    return true;
}

/* How much of a row is on its own page, by the format's rule. */
static size_t local_part(const struct database *d, uint64_t size)
{
    size_t most = d->usable - 35, least = (d->usable - 12) * 32 / 255 - 23, part;

    if (size <= most)
        return (size_t)size;
    part = least + (size_t)((size - least) % (d->usable - 4));
    return part <= most ? part : least;
}

static bool take_cell(struct database *d, const unsigned char *p, const unsigned char *end)
{
    uint64_t size, number;
    size_t n = varint(p, end, &size), m = n ? varint(p + n, end, &number) : 0, part;

    if (!m || size > d->size)
        return false;
    p += n + m;
    part = local_part(d, size);
    if ((size_t)(end - p) < part + (part < size ? 4 : 0))
        return false;
    if (part == size)
        return take_row(d, p, (size_t)size);
    memory_fit(d->row, d->row_room, part);
    memcpy(d->row, p, part);
    return gather(d, part, (size_t)size, big(p + part, 4)) && take_row(d, d->row, (size_t)size);
}

/* ---- pages ---- */

static void walk(struct database *d, uint32_t number, int depth)
{
    const unsigned char *page = page_of(d, number), *head, *end;
    uint32_t cells;

    if (!page || depth > DEPTH_MOST) {
        d->damaged = true;
        return;
    }
    head = number == 1 ? page + HEADER : page;
    end = page + d->usable;
    cells = big(head + 3, 2);
    d->damaged |= head[0] != INNER && head[0] != LEAF;
    if (d->damaged || head + 12 + (size_t)cells * 2 > end) {
        d->damaged = true;
        return;
    }
    for (uint32_t i = 0; i < cells && !d->damaged; i++) {
        const unsigned char *cell = page + big(head + (head[0] == INNER ? 12 : 8) + i * 2, 2);

        if (cell + 4 > end)
            d->damaged = true;
        else if (head[0] == INNER)
            walk(d, big(cell, 4), depth + 1);
        else
            d->damaged |= !take_cell(d, cell, end);
    }
    if (head[0] == INNER && !d->damaged)
        walk(d, big(head + 8, 4), depth + 1);
}

/* ---- the table ---- */

struct wanted {
    const char *name;
    uint32_t root;
    char *sql;
    size_t room;
};

enum { SCHEMA_TYPE, SCHEMA_NAME, SCHEMA_TABLE, SCHEMA_ROOT, SCHEMA_TEXT, SCHEMA_COLUMNS };

/* A row of the schema. */
static void take_schema(void *context, const struct sqlite_cell *c, int count)
{
    struct wanted *w = context;
    const struct sqlite_cell *name = &c[SCHEMA_NAME], *root = &c[SCHEMA_ROOT],
                             *text = &c[SCHEMA_TEXT];
    size_t length = strlen(w->name);

    if (count < SCHEMA_COLUMNS || !name->text || name->length != length || root->text ||
        !text->text || memcmp(name->bytes, w->name, length) != 0 || root->number <= 0 ||
        root->number > UINT32_MAX)
        return;
    w->root = (uint32_t)root->number;
    if (w->sql) {
        size_t part = text->length < w->room - 1 ? text->length : w->room - 1;

        memcpy(w->sql, text->bytes, part);
        w->sql[part] = '\0';
    }
}

static int open_database(struct database *d, struct err *err)
{
    d->page = big(d->bytes + 16, 2) == 1 ? 65536 : big(d->bytes + 16, 2);
    if (d->page < 512 || d->page & (d->page - 1) || d->size < d->page || d->bytes[20] > 32 ||
        d->size / d->page > UINT32_MAX - 1)
        return err_set(err, "the database is damaged: its header is impossible");
    d->usable = d->page - d->bytes[20];
    d->pages = (uint32_t)(d->size / d->page);
    d->seen = memory_zeroed((size_t)d->pages + 1);
    return 0;
}

int sqlite_read(const unsigned char *bytes, size_t size, const char *table, sqlite_take *take,
                void *context, char *sql, size_t sql_room, struct err *err)
{
    struct wanted w = {.name = table, .sql = sql, .room = sql_room};
    struct database d = {.bytes = bytes, .size = size, .take = take_schema, .context = &w};

    if (open_database(&d, err) < 0)
        return -1;
    walk(&d, 1, 0);
    if (!d.damaged && w.root) {
        d.take = take;
        d.context = context;
        walk(&d, w.root, 0);
    }
    free(d.seen);
    free(d.row);
    if (d.damaged)
        return err_set(err, "the database is damaged or cut");
    return w.root ? 0 : err_set(err, "the database has no table '%s'", table);
}
