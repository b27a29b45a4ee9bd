/* trie - the stacks of a trace as a tree of calls by name. Machinery is left out of it: frames of
 * the interpreter, of imports, of what starts threads and programs; only where memory is taken in
 * it one frame stays.
 */
#ifndef PAGE_TRIE_H
#define PAGE_TRIE_H

#include "model/frames.h"

enum trie_kind { /* of a frame, as docs/PAGE.md has them */
                 TRIE_PYTHON,
                 TRIE_NATIVE,
                 TRIE_INTERPRETER,
                 TRIE_KERNEL,
                 TRIE_SMALLER,
                 TRIE_UNKNOWN,
};

struct trie_frame {
    const char *function, *file, *module; /* never NULL */
    uint64_t line;
    enum trie_kind kind;
};

struct trie_node {
    uint32_t up,
        frame; /* up: its parent, which has the smaller number; the root is 0, of frame 0 */
};

enum trie_rank { TRIE_ALLOCATES, TRIE_PLUMBING, TRIE_NAMED, TRIE_LIBRARY, TRIE_OWN };

struct trie { /* zeroed: empty */
    const struct frames *frames;
    struct arena *arena;
    struct trie_frame *list; /* the first is "(smaller)" */
    size_t frame_count, frame_room;
    struct trie_node *nodes;
    size_t node_count, node_room;
    uint64_t left_out; /* nodes above the limit of this reader: their parents stand for them */
    struct trie_pass *pass;
};

void trie_start(struct trie *t, const struct frames *f, struct arena *a);
/* How well each frame tells who asks for memory, by its place in `list`: a stack's site is the
 * innermost of those that tell it best, as the page looks for it (web/src/sites.js). To be freed.
 */
uint8_t *trie_ranks(const struct trie *t);
/* The node of what was done in a stack. */
uint32_t trie_node(struct trie *t, uint64_t stack);
void trie_free(struct trie *t);

#endif
