/* pylayer - functions of ours that stand on the allocators of a Python interpreter, see pylayer.c.
 */
#ifndef INJECT_PYLAYER_H
#define INJECT_PYLAYER_H

#include <stdbool.h>
#include <stddef.h>

struct functions {
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
};

struct allocator { /* PyMemAllocatorEx */
    void *context;
    struct functions f;
};

#define PYLAYERS 5
#define PYLAYER_QUICK                                                                              \
    2 /* the first of them are for allocators that serve small blocks from pools */

extern const struct functions pylayers[PYLAYERS];

/* Are they the same functions? */
bool pylayer_same(const struct functions *a, const struct functions *b);
/* Which layer this is, -1: none. */
int pylayer_of(const struct allocator *a);
/* The layer that stands on these functions, -1: there are too many of them. */
int pylayer_on(const struct functions *f, bool pools);
/* What a layer stands on. */
const struct functions *pylayer_beneath(int k);

#endif
