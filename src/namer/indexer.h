/* indexer - all the names of a module at once, as resolve/index.h has them. */
#ifndef NAMER_INDEXER_H
#define NAMER_INDEXER_H

#include "namer/module.h"

struct indexed {
    unsigned char *bytes; /* of malloc */
    size_t size;
};

/* What holds one of these addresses will be in the index: its units, or without debug information
 * its symbols. The module is open.
 */
void indexer_want(struct module *m, const uint64_t *addresses, size_t count);

/* Of a very large table of symbols those that are wanted. Else of the units that are wanted, and of
 * all where that takes no more than a second or two and either `all` is wanted or the file is an
 * old one, which is likely to stay. False when the names should not be kept: something else than
 * files has a say in them, or there are too many.
 */
bool indexer_make(struct module *m, struct strings *strings, bool all, uint64_t maker,
                  struct indexed *out);

#endif
