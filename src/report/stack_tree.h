/* stack_tree - the stacks of an answer as one tree of frames, for formats that draw or number them.
 * Stacks that look alike are one; frames of an interpreter itself are left out unless the answer is
 * a native one. Where the tree is too large for any reader, its smallest branches become one
 * "(smaller)" each: every sum stays what it was.
 */
#ifndef REPORT_STACK_TREE_H
#define REPORT_STACK_TREE_H

#include "base/intmap.h"
#include "questions/table.h"

#define STACK_TREE_VALUES 8

struct stack_node {
    uint32_t parent; /* 0: the root, which has no frame */
    uint32_t frame;
    uint64_t own[STACK_TREE_VALUES]; /* of the stack that ends here */
    uint64_t all[STACK_TREE_VALUES]; /* and of those that go on from here */
};

struct stack_tree {
    const struct table *table;
    int columns[STACK_TREE_VALUES]; /* those that are summed; the first is what the table is about
                                     */
    int values;
    struct stack_node *nodes; /* parents before children; 0 is the root */
    size_t count, room;
    const struct table_frame **frames; /* each once, from 1 on */
    size_t frame_count, frame_room;
    struct intmap children, places;
    uint32_t *same; /* by frame: the next one with the same hash; 0: none */
    size_t same_room;
    const struct table_frame **path; /* of the stack that is added */
    size_t path_room;
    double folded; /* branches below this part of each sum are folded; 0: none are */
};

/* False where no table of the answer has stacks and a sum. */
bool stack_tree_make(struct stack_tree *t, const struct answer *a);
void stack_tree_free(struct stack_tree *t);

/* The node of a stack, which is made if need be, in a tree that was zeroed or made; NULL: of no
 * stack.
 */
uint32_t stack_tree_leaf(struct stack_tree *t, const struct table_stack *stack, bool native);

/* How one of its frames is called: a function, or module+0x12; in the arena. */
const char *stack_frame_name(struct arena *arena, const struct table_frame *f);

#endif
