/* heap_entry - so much of an owner that was born in one cell and died in another; and a list of
 * them that is merged while it grows. What is spent in a cell has its kind in the place of the
 * death.
 */
#ifndef MODEL_HEAP_ENTRY_H
#define MODEL_HEAP_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#define HEAP_ENTRY_ALIVE 0x7fffu   /* its death: none in the recording */
#define HEAP_ENTRY_WITH_IT 0x8000u /* flag of a death: with its process */
#define HEAP_ENTRY_DEATH(d) ((d)&0x7fffu)

struct heap_entry {
    uint32_t owner;
    uint16_t birth, death;
    int64_t count, bytes; /* count: blocks; thousandths of them where the recording is sampled */
};

#define HEAP_ENTRY_RECENT 4096u

struct heap_entry_log { /* zeroed: empty */
    struct heap_entry *list;
    size_t count, room;
    size_t merged;                      /* those that were left by the last merge */
    uint32_t recent[HEAP_ENTRY_RECENT]; /* by their key: 1 + where one was put; 0: nowhere */
};

void heap_entry_put(struct heap_entry_log *l, const struct heap_entry *e);
/* By owner, birth and death, each once; how many are left. */
size_t heap_entry_merge(struct heap_entry *list, size_t count);
/* The bytes that live at each of so many edges. */
void heap_entry_live(const struct heap_entry_log *l, int edges, uint64_t *live);

#endif
