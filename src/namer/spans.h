/* spans - which of many stretches of addresses holds an address.
 *
 * Add in any order, sort once, then ask. Stretches may overlap or lie in each other; the one that
 * begins last wins. A zeroed `struct spans` is empty; its memory is the caller's arena.
 */
#ifndef NAMER_SPANS_H
#define NAMER_SPANS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define SPANS_NOTHING UINT32_MAX /* a `what` that is never found: it only ends open spans */

struct span {
    uint64_t low, high; /* [low, high); equal: open, up to the next that begins later */
    uint64_t reach;     /* the greatest `high` of this and all before */
    uint32_t what;
    uint16_t rank; /* of those with the same `low`, the greatest wins */
    bool open;     /* its end is a guess: any other that holds the address wins */
};

struct spans {
    struct span *list;
    size_t count, room;
};

void spans_add(struct spans *s, struct arena *arena, struct span span);
void spans_sort(struct spans *s);
/* NULL when none holds the address. */
const struct span *spans_at(const struct spans *s, uint64_t address);
/* The same; false when none holds the address. */
bool spans_find(const struct spans *s, uint64_t address, uint32_t *what);

#endif
