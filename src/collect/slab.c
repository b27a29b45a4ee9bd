/* slab - see slab.h. */
#include "collect/slab.h"

#include "base/memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define REGION_LEAST (16u << 10) /* there is one for each of thousands of processes */
#define REGION_MOST (1u << 20)
#define SPARES_MOST                                                                                \
    16 /* regions of the least size: a build starts and ends hundreds of processes */

struct slab_free {
    struct slab_free *next;
};

struct slab_region { /* at its start */
    struct slab_region *next;
    size_t bytes;
};

static struct slab_region *spares; /* of processes that have ended */
static unsigned int spare_count;

/* Zeroed. To clear pages that are there is a tenth of what it takes to ask for others. */
static struct slab_region *region_of(size_t bytes)
{
    struct slab_region *r = spares;

    if (bytes != REGION_LEAST || !r)
        return memory_pages(bytes);
    spares = r->next;
    spare_count--;
    return memset(r, 0, bytes);
}

static void give_back(struct slab_region *r)
{
    if (r->bytes != REGION_LEAST || spare_count == SPARES_MOST) {
        munmap(r, r->bytes);
        return;
    }
    r->next = spares;
    spares = r;
    spare_count++;
}

/* As large as all before it, so that few are needed and not much is in vain. */
static void add_region(struct slab *s, size_t least)
{
    size_t bytes = REGION_LEAST;
    struct slab_region *r;

    while (bytes < 2 * least || (bytes < s->bytes && bytes < REGION_MOST))
        bytes *= 2;
    r = region_of(bytes);
    *r = (struct slab_region){s->regions, bytes};
    s->regions = r;
    s->bytes += bytes;
    s->at = (char *)r + 64;
    s->end = (char *)r + bytes;
}

void *slab_take(struct slab *s, unsigned int step)
{
    size_t bytes = slab_size(step);
    struct slab_free *old = s->free[step];
    void *piece = s->at;

    if (old) {
        s->free[step] = old->next;
        return memset(old, 0, bytes);
    }
    if ((size_t)(s->end - s->at) < bytes) {
        add_region(s, bytes);
        piece = s->at;
    }
    s->at += bytes;
    return piece;
}

void slab_give(struct slab *s, void *piece, unsigned int step)
{
    struct slab_free *f = piece;

    f->next = s->free[step];
    s->free[step] = f;
}

void slab_free(struct slab *s)
{
    struct slab_region *next;

    for (struct slab_region *r = s->regions; r; r = next) {
        next = r->next;
        give_back(r);
    }
    *s = (struct slab){0};
}
