/* relocate - the addresses in the tables of one object that lead to functions which we stand for:
 * ours are written there, and what was there before is written back. One thread at a time.
 */
#ifndef INJECT_RELOCATE_H
#define INJECT_RELOCATE_H

#include "inject/elf.h"
#include "inject/space.h"

enum relocate_how {
    RELOCATE_BOUND, /* what is bound already, or can only be bound to one function of its name */
    RELOCATE_ALL,   /* what is not bound yet, too: all will be bound to ours */
    RELOCATE_BACK,  /* put back what was there */
};

void relocate_all(const struct space *w, enum relocate_how how, const struct elf *e,
                  const struct link_map *map);

#endif
