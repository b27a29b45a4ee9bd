/* pages - write a word into a loaded object whose page may be read-only, and leave the page as it
 * was.
 *
 * What is read-only is what the kernel says, not what the file says: a program may have changed it.
 */
#ifndef INJECT_PAGES_H
#define INJECT_PAGES_H

#include "inject/elf.h"

struct pages { /* the page that is open; all zero: none */
    uintptr_t at;
    int rights; /* that it has else */
};

/* Read a word; false: it is in no segment of the object, or cannot be read. */
bool pages_load(const struct elf *e, uintptr_t at, uintptr_t *out);

/* Write one that can be read; false: the kernel does not let us. */
bool pages_store(struct pages *p, const struct elf *e, uintptr_t at, uintptr_t value);

/* Close what is open. */
void pages_done(struct pages *p);

#endif
