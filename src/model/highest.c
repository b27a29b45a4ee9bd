/* highest - see highest.h. The numbers are the leaves of a tree in an array: node i has the larger
 * of the nodes 2i and 2i + 1.
 */
#include "model/highest.h"

#include "base/memory.h"

#include <stdlib.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void highest_start(struct highest *h, size_t count)
{
    highest_free(h);
    h->count = count;
    h->tree = memory_zeroed((2 * count + 1) * sizeof(*h->tree));
}

void highest_set(struct highest *h, size_t place, uint64_t number)
{
    h->tree[h->count + place] = number;
}

void highest_settle(struct highest *h)
{
    for (size_t i = h->count; i-- > 1;)
        h->tree[i] = larger(h->tree[2 * i], h->tree[2 * i + 1]);
}

uint64_t highest_of(const struct highest *h, size_t from, size_t to)
{
    uint64_t most = 0;

    to = to < h->count ? to : h->count;
    if (from >= to)
        return 0;
    for (from += h->count, to += h->count; from < to; from /= 2, to /= 2) {
        if (from & 1)
            most = larger(most, h->tree[from++]);
        if (to & 1)
            most = larger(most, h->tree[--to]);
    }
    return most;
}

void highest_free(struct highest *h)
{
    free(h->tree);
    *h = (struct highest){0};
}
