/* inlines - which inlined functions an address in a function lies in. */
#ifndef NAMER_INLINES_H
#define NAMER_INLINES_H

#include "namer/units.h"

#define INLINES_DEEPEST 256

/* One place where a function was inlined. */
struct scope {
    Dwarf_Die die;
    uint64_t low, high; /* around all its ranges */
    struct inlines_range *ranges;
    uint32_t range_count;
    uint32_t next; /* index of the first behind it that is not inside it */
    bool named;
    bool hidden;      /* one that is no function for those who wrote the call; once named */
    const char *name; /* once named, with the place of the call */
    const char *call_file;
    uint32_t call_line;
};

struct inlines_range {
    uint64_t low, high;
};

/* Fills `path` from the outermost to the innermost that holds the address; returns how many. */
int inlines_at(struct units *u, struct function *f, uint64_t address,
               struct scope *path[INLINES_DEEPEST]);

#endif
