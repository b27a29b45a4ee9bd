/* block_spans - the blocks that live, by address: which one holds a given byte. They are kept
 * sorted in leaves of some hundred, so that a look takes two short searches through memory that
 * lies together.
 */
#ifndef MODEL_BLOCK_SPANS_H
#define MODEL_BLOCK_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct span {
    uint64_t start, end; /* start < end */
    uint32_t place;      /* of whom: addresses of two are never the same */
    uint32_t block;      /* what it is, as its owner numbers them */
};

struct spans { /* zeroed: empty */
    struct spans_leaf **leaves;
    struct span *firsts; /* of each leaf; of the first leaf it does not matter */
    size_t count, room;
};

/* The one that holds an address; NULL: none does. It holds until the next change. */
const struct span *spans_find(const struct spans *s, uint32_t place, uint64_t address);
/* Those that it overlaps have ended unseen: they are removed. */
void spans_add(struct spans *s, struct span x);
/* The very one, if it is there. */
void spans_remove(struct spans *s, struct span x);
void spans_free(struct spans *s);

#endif
