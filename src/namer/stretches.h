/* stretches - around a few addresses: how far what is said of each one reaches.
 *
 * What spans say of an address can only change where one of them begins or ends. Of a table with
 * half a million spans only the ends next to the addresses are looked for: nothing is sorted,
 * nothing else named.
 */
#ifndef NAMER_STRETCHES_H
#define NAMER_STRETCHES_H

#include "namer/spans.h"

struct stretch {
    uint64_t at;        /* the address */
    uint64_t low, high; /* [low, high); 0 and UINT64_MAX where no span ends */
};

/* Fills in low and high; the list is ordered by `at`, the spans are sorted. */
void stretches_find(const struct spans *s, struct stretch *list, size_t count);

#endif
