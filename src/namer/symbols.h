/* symbols - the functions that the symbol tables of a file of code name. */
#ifndef NAMER_SYMBOLS_H
#define NAMER_SYMBOLS_H

#include "namer/image.h"
#include "namer/spans.h"

#include <stdint.h>

struct symbols {
    struct spans spans; /* `what` is an index of names, or SPANS_START */
    const char **names; /* as they are in the files, which must stay open */
    size_t count, room;
    Elf *mini; /* the table that .gnu_debugdata holds, and its bytes */
    void *mini_bytes;
};

/* All that `code` and `debug` (not open: none) have between them: the full table, else the
 * compressed one and the one for the dynamic linker.
 */
void symbols_read(struct symbols *s, struct arena *arena, struct image *code, struct image *debug);
void symbols_close(struct symbols *s);

/* The mangled name of the function at the address, or NULL. */
const char *symbols_at(const struct symbols *s, uint64_t address);
/* Where a function without a name begins that holds the address; false: none is known. */
bool symbols_start(const struct symbols *s, uint64_t address, uint64_t *start);

#endif
