/* slab - zeroed pieces of memory whose sizes are powers of two, all given back at once.
 *
 * Made for tables that are replaced by larger ones as they grow: what one leaves behind serves the
 * next. Fresh memory is asked for in large steps, which is far cheaper than a fault for every page.
 */
#ifndef WATCH_SLAB_H
#define WATCH_SLAB_H

#include <stddef.h>

#define SLAB_BITS_MOST 21 /* 2 MiB */

struct slab { /* zeroed is empty */
    char *at, *end;
    struct slab_free *free[SLAB_BITS_MOST + 1]; /* given back, by size */
    struct slab_region *regions;
    size_t bytes; /* in all regions */
};

/* 2^bits bytes, at least 64. Never NULL. */
void *slab_take(struct slab *s, unsigned int bits);
void slab_give(struct slab *s, void *piece, unsigned int bits);
void slab_free(struct slab *s);

#endif
