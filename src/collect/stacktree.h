/* stacktree - the stacks of a trace as a tree: each is a frame below its parent, by number from 1.
 *
 * There may be millions, most of which are new when they are asked for, so that each question is a
 * miss of the cache. The index is therefore small: a word for each, which is half a hash and the
 * number; and those that come right after their parent, which most do, are not in it.
 */
#ifndef COLLECT_STACKTREE_H
#define COLLECT_STACKTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stacktree_node {
    uint32_t parent, frame;
};

struct stacktree {                /* zeroed is empty */
    struct stacktree_node *nodes; /* by number */
    size_t room;
    uint32_t count;
    uint64_t *index;   /* half of a hash << 32 | number; 0: empty */
    unsigned int bits; /* of a place in it */
    size_t used;
};

/* The number of the stack that is this frame below that parent, made if need be: then *added. A
 * parent of 0 is none.
 */
uint32_t stacktree_child(struct stacktree *t, uint32_t parent, uint32_t frame, bool *added);

/* So many frames further out; 0: none is left. */
uint32_t stacktree_outward(const struct stacktree *t, uint32_t number, uint32_t frames);

void stacktree_free(struct stacktree *t);

#endif
