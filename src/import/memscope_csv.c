/* memscope_csv - dumps of MindStudio MemScope as CSV: fields may be in quotes, with commas, line
 * ends and doubled quotes in them.
 */
#include "import/importer.h"
#include "import/memscope.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    const char *at, *end;
    char *row; /* its fields, without their quotes */
    size_t used, room;
    size_t begins[MEMSCOPE_COLUMNS + 1];
    int count;
};

static void put(struct reading *r, char c)
{
    memory_fit(r->row, r->room, r->used + 1);
    r->row[r->used++] = c;
}

static void end_field(struct reading *r)
{
    if (r->count < MEMSCOPE_COLUMNS)
        r->begins[r->count + 1] = r->used;
    r->count++;
}

/* The next row; false: there is none. */
static bool next_row(struct reading *r)
{
    bool quoted = false;

    if (r->at >= r->end)
        return false;
    r->used = 0;
    r->count = 0;
    for (; r->at < r->end && (quoted || *r->at != '\n'); r->at++) {
        bool doubled = quoted && *r->at == '"' && r->at + 1 < r->end && r->at[1] == '"';

        if (*r->at == '"' && !doubled)
            quoted = !quoted;
        else if (*r->at == ',' && !quoted)
            end_field(r);
        else if (*r->at != '\r' || quoted)
            put(r, *r->at);
        r->at += doubled;
    }
    end_field(r);
    r->at += r->at < r->end;
    return true;
}

static void take_row(struct memscope *m, const struct reading *r)
{
    struct memscope_text columns[MEMSCOPE_COLUMNS];

    if (r->count != MEMSCOPE_COLUMNS) {
        m->odd += r->used > 0;
        return;
    }
    for (int i = 0; i < MEMSCOPE_COLUMNS; i++)
        columns[i] = (struct memscope_text){r->row + r->begins[i], r->begins[i + 1] - r->begins[i]};
    memscope_take(m, columns);
}

/* How long its first line is. */
static size_t header_length(const struct import_file *f)
{
    const unsigned char *end = memchr(f->bytes, '\n', f->size);
    size_t length = end ? (size_t)(end - f->bytes) : f->size;

    return length && f->bytes[length - 1] == '\r' ? length - 1 : length;
}

static int read_csv(const struct import_file *f, struct intake *in, struct err *err)
{
    const char *bytes = (const char *)f->bytes;
    size_t header = header_length(f), want = sizeof(MEMSCOPE_HEADER) - 1;
    struct reading r = {.at = bytes, .end = bytes + f->size};
    struct memscope m = {.in = in};

    if (header != want || memcmp(bytes, MEMSCOPE_HEADER, want) != 0)
        return err_set(
            err,
            "'%s' is a dump of another version of MemScope: its columns are not those of 26.0 (%s)",
            f->path, MEMSCOPE_HEADER);
    next_row(&r);
    while (next_row(&r))
        take_row(&m, &r);
    memscope_tell(&m);
    memscope_free(&m);
    free(r.row);
    return 0;
}

static bool knows(const struct import_file *f)
{
    static const char begin[] = "ID,Event,";

    return f->size >= sizeof(begin) - 1 && memcmp(f->bytes, begin, sizeof(begin) - 1) == 0;
}

const struct importer importer_memscope_csv = {
    .name = "a dump of MindStudio MemScope (.csv)",
    .summary =
        "memscope_dump_*.csv: allocations and frees of the driver and of the pools in its memory, "
        "with stacks, charged to the operators that were open; steps and marks",
    .knows = knows,
    .read = read_csv,
};
