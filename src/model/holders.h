/* holders - which line pays for what a stack allocated. It is the stack's own, but for threads that
 * have none: a block is known by its stack alone, so it is the line that started the threads that
 * allocate there. Where they were started by several lines, it is none's; nor is what an allocator
 * inside of a library has reserved for whoever comes. Who calls an allocator of the program's own
 * pays for what it gets.
 */
#ifndef MODEL_HOLDERS_H
#define MODEL_HOLDERS_H

#include "model/creators.h"
#include "model/heap.h"
#include "model/pool_code.h"

struct holders {
    const uint32_t *lines;   /* by stack; of blame, which may have them */
    uint32_t *others;        /* the same, where some are others than blame's; NULL: none is */
    uint32_t *started;       /* by stack: who started its threads, where that decided; 0: nobody */
    struct intmap functions; /* stack -> the function that pays, where it is another than blame's */
    const char *arenas;      /* how SCOPE_ARENAS is called here; NULL: there are none */
};

/* In the arena, while there is the blame. */
void holders_find(struct holders *h, const struct pool_code *code, const struct creators *c,
                  const struct heap *heap, struct arena *a);
void holders_free(struct holders *h);

/* The function that pays for what a stack allocated; UINT32_MAX: none. */
uint32_t holders_function(const struct holders *h, const struct blame *b, uint64_t stack);

#endif
