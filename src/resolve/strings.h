/* strings - each text once, for as long as the resolver lives. */
#ifndef RESOLVE_STRINGS_H
#define RESOLVE_STRINGS_H

#include "base/arena.h"
#include "base/intmap.h"

struct strings {
    struct arena arena;
    struct intmap by_hash;
};

/* The kept copy; NULL for NULL and for the empty text. */
const char *strings_keep(struct strings *s, const char *text);
void strings_free(struct strings *s);

#endif
