/* units - the DWARF of a file of code, by address: compilation units and the functions in them.
 *
 * Everything is read when it is first needed: the stretches of all units at once, the functions of
 * a unit with its first address, what is inlined in a function (inlines.h) and the lines of a unit
 * (lines.h) likewise. Offsets must grow while a tree is walked, so damaged DWARF always ends.
 */
#ifndef NAMER_UNITS_H
#define NAMER_UNITS_H

#include "namer/spans.h"

#include <elfutils/libdw.h>

#define UNITS_PATHS 16

struct function {
    Dwarf_Die die;
    uint64_t entry; /* where it begins */
    bool named, walked;
    const char *name;     /* once named */
    struct scope *scopes; /* once walked: inlines.h */
    uint32_t scope_count;
};

struct unit {
    Dwarf_Die die;       /* of the code: of the .dwo where that is split off */
    Dwarf_Die lines_die; /* whose line table counts */
    bool indexed, deep, lines_read, files_read;
    bool wanted; /* in an index: see indexer.h */
    bool plain;  /* C, assembler: functions are only at the top, and names are never mangled */
    struct spans spans;
    struct function *functions; /* the spans' `what` is an index */
    uint32_t function_count, function_room;
    Dwarf_Lines *lines;
    size_t line_count;
    Dwarf_Files *files;
    size_t file_count;
    struct { /* names of files as libdw has them, and with their folders: those of the last rows */
        const char *name, *path;
    } paths[UNITS_PATHS];
};

struct units {
    Dwarf *dwarf;
    struct arena *arena;
    struct spans spans;
    struct unit *list;
    uint32_t count, room;
    bool split;   /* some code has its information in a file of its own (.dwo) */
    size_t bytes; /* about what libdw and we took for it since it was opened */
};

/* `u` is zeroed but for dwarf and arena. */
void units_read(struct units *u);
struct unit *units_at(struct units *u, uint64_t address);
/* Makes sure that all functions of the unit are known, in others and in classes, too. */
void units_functions(struct units *u, struct unit *unit);
struct function *units_function(struct units *u, struct unit *unit, uint64_t address);

/* Calls `each` for the DIEs right below one. Those that do not lie behind *last, the one that was
 * seen last, end it. */
void units_below(Dwarf_Die *parent, Dwarf_Off *last, void (*each)(void *to, Dwarf_Die *die),
                 void *to);
/* Calls `each` for the stretches of addresses of a DIE that can be code. */
void units_ranges(Dwarf_Die *die, void (*each)(void *to, uint64_t low, uint64_t high), void *to);

#endif
