/* lines - see lines.h. libdw sorts the rows of a unit by address, so they are searched by halves.
 */
#include "namer/lines.h"

#include "base/search.h"

#define LINE_BYTES 48 /* about what libdw takes for one row */

static void read_lines(struct units *u, struct unit *unit)
{
    unit->lines_read = true;
    if (dwarf_getsrclines(&unit->lines_die, &unit->lines, &unit->line_count) != 0)
        unit->line_count = 0;
    u->bytes += unit->line_count * LINE_BYTES;
}

uint64_t lines_address(const struct unit *unit, size_t index)
{
    Dwarf_Addr address = UINT64_MAX;

    dwarf_lineaddr(dwarf_onesrcline(unit->lines, index), &address);
    return address;
}

size_t lines_count(struct units *u, struct unit *unit)
{
    if (!unit->lines_read)
        read_lines(u, unit);
    return unit->line_count;
}

/* How many rows, which libdw sorts, are at the address or before it. */
static size_t rows_up_to(const struct unit *unit, uint64_t address)
{
    size_t low = 0;

    SEARCH(low, unit->line_count, i, lines_address(unit, i) <= address);
    return low;
}

bool lines_at(struct units *u, struct unit *unit, uint64_t address, const char **file,
              uint32_t *line)
{
    Dwarf_Line *row;
    size_t rows;
    bool ends;
    int number;

    lines_count(u, unit);
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
