/* line_tables - the lines of code objects, for the tests that know them: each line of standard
 * input is the format, the first line, the bytes of code and the table in hexadecimal digits; the
 * answer is the line of each instruction of two bytes.
 */
#include "python/linetable.h"

#include <stdio.h>
#include <stdlib.h>

static size_t from_hex(const char *text, unsigned char *out)
{
    size_t n = 0;
    unsigned int byte;

    for (; sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
        out[n] = (unsigned char)byte;
    return n;
}

/* From the table's start, and from where the last one was: UINT32_MAX where they differ. */
static uint32_t line_at(enum py_lines format, uintptr_t table, size_t size, int first, uint32_t at,
                        struct py_line_place *place)
{
    const struct py_memory plain = {NULL, NULL};
    uint32_t line = py_line(format, &plain, table, size, first, at, NULL);

    return line == py_line(format, &plain, table, size, first, at, place) ? line : UINT32_MAX;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, stdin) > 0) {
        unsigned char *table;
        int format, first, skip;
        unsigned int bytes;
        struct py_line_place place = {0};
        size_t size;

        if (sscanf(line, "%d %d %u %n", &format, &first, &bytes, &skip) != 3)
            break;
        table = calloc(1, room + 1);
        if (!table)
            break;
        size = from_hex(line + skip, table);
        for (unsigned int at = 0; at < bytes; at += 2)
            printf("%u ",
                   line_at((enum py_lines)format, (uintptr_t)table, size, first, at, &place));
        printf("\n");
        free(table);
    }
    free(line);
    return 0;
}
