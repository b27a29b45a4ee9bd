/* slab - zeroed pieces of memory in sizes a quarter or less apart, all given back at once.
 *
 * Made for tables that are replaced by larger ones as they grow: what one leaves behind serves the
 * next. Fresh memory is asked for in large steps, which is far cheaper than a fault for every page.
 */
#ifndef COLLECT_SLAB_H
#define COLLECT_SLAB_H

#include <stddef.h>

#define SLAB_STEPS 52 /* the last is 1.75 MiB */

struct slab { /* zeroed is empty */
    char *at, *end;
    struct slab_free *free[SLAB_STEPS]; /* given back, by size */
    struct slab_region *regions;
    size_t bytes; /* in all regions */
};

/* The size of each step: 256 bytes, 320, 384, 448, 512, 640 ... */
static inline size_t slab_size(unsigned int step)
{
    return (size_t)(4 + step % 4) << (step / 4 + 6);
}

/* Never NULL. */
void *slab_take(struct slab *s, unsigned int step);
void slab_give(struct slab *s, void *piece, unsigned int step);
void slab_free(struct slab *s);

#endif
