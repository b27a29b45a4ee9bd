/* leaves - what the page adds up: who (node of the trie, thread, line, labels), and for each
 * measure entries of theirs. Small subtrees are folded into their parents: their leaves keep
 * thread, line and site, so every sum stays.
 */
#ifndef PAGE_LEAVES_H
#define PAGE_LEAVES_H

#include "model/heap_entries.h"
#include "page/trie.h"

struct leaf {
    uint32_t node, thread, line, labels;
    uint32_t site; /* of what was folded: the frame below its node that asks for memory; 0: none */
    bool has_line; /* of source: who looks for it finds it there, and needs no site */
};

enum measure { MEASURE_HEAP, MEASURE_MAPS, MEASURE_CPU, MEASURE_WAITS, MEASURE_COPIES, MEASURES };

struct entries { /* `owner` is a leaf; by leaf, birth, death */
    struct heap_entry *list;
    size_t count;
};

struct leaves {
    struct leaf *list;
    size_t count, room;
    struct trie_node *nodes; /* in preorder; `up` is the parent's place */
    size_t node_count;
    uint8_t *ranks; /* by frame: trie_ranks; of what is folded alone */
    struct entries of[MEASURES];
};

/* By node, thread, line, labels and site: each once. `numbers` of what was given become places in
 * it. */
void leaves_sort(struct leaves *l, uint32_t *numbers);

/* Where it is looked at what is large: at the edges of the coarse grid, so that a stretch that is
 * told finer changes neither what is folded nor the order.
 */
struct leaves_cells {
    const uint16_t *of; /* by cell: the edge of it */
    int count, edges;
};

/* By node: its shares of every measure, their sum and the largest of them. The same however much is
 * folded.
 */
struct leaves_weights {
    double *sums, *most;
};

void leaves_weigh(struct leaves_weights *w, const struct leaves *l,
                  const struct leaves_cells *cells);
void leaves_weights_free(struct leaves_weights *w);

/* Fold what is below a part of every measure, and order the nodes. `from` stays as it is. */
void leaves_fold(struct leaves *to, const struct leaves *from, double least,
                 const struct leaves_weights *weights);
void leaves_free(struct leaves *l);

#endif
