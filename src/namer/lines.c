#include "resolve/lines.h"

#define LINE_BYTES 48 /* about what libdw takes for one row */

static void read_lines(struct units *u, struct unit *unit)
{
    unit->lines_read = true;
    if (dwarf_getsrclines(&unit->lines_die, &unit->lines, &unit->line_count) != 0)
        unit->line_count = 0;
    u->bytes += unit->line_count * LINE_BYTES;
}

static uint64_t address_of(const struct unit *unit, size_t index)
{
    Dwarf_Addr address = UINT64_MAX;

    dwarf_lineaddr(dwarf_onesrcline(unit->lines, index), &address);
    return address;
}

/* How many rows, which libdw sorts, are at the address or before it. */
static size_t rows_up_to(const struct unit *unit, uint64_t address)
{
    size_t low = 0, high = unit->line_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (address_of(unit, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool lines_at(struct units *u, struct unit *unit, uint64_t address, const char **file,
              uint32_t *line)
{
    Dwarf_Line *row;
    size_t rows;
    bool ends;
    int number;

    if (!unit->lines_read)
        read_lines(u, unit);
    rows = rows_up_to(unit, address);
    if (rows == 0)
        return false;
    row = dwarf_onesrcline(unit->lines, rows - 1);
    if (dwarf_lineendsequence(row, &ends) != 0 || ends || dwarf_lineno(row, &number) != 0)
        return false;
    *file = dwarf_linesrc(row, NULL, NULL);
    *line = number > 0 ? (uint32_t)number : 0;
    return *file != NULL;
}

const char *lines_file(struct unit *unit, uint64_t number)
{
    if (!unit->files_read) {
        unit->files_read = true;
        if (dwarf_getsrcfiles(&unit->die, &unit->files, &unit->file_count) != 0)
            unit->file_count = 0;
    }
    return number < unit->file_count ? dwarf_filesrc(unit->files, number, NULL, NULL) : NULL;
}
