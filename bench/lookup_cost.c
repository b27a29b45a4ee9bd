/* lookup_cost - how long it takes to find the block that holds an address, of 100,000 that live: CPU time in ns, the
 * least of five. To be compiled with src/model/block_spans.c; with -DTREE it is tsearch(3) instead, for comparison.
 */
#include "model/block_spans.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BLOCKS 100000u
#define LOOKS 1000000u
#define ROUNDS 5

/* src/base/memory.c without the rest of it */
void *memory_resize(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);

    return p ? p : (abort(), NULL);
}

void *memory_zeroed(size_t bytes)
{
    void *p = calloc(1, bytes);

    return p ? p : (abort(), NULL);
}

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#ifdef TREE
static void *tree;

static int by_address(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->end <= y->start ? -1 : x->start >= y->end;
}

static void add(struct span x)
{
    struct span *copy = memory_zeroed(sizeof(x));

    *copy = x;
    tsearch(copy, &tree, by_address);
}

static const struct span *find(uint64_t address)
{
    const struct span x = {address, address + 1, 1, 0};
    struct span *const *node = tfind(&x, &tree, by_address);

    return node ? *node : NULL;
}
#else
static struct spans spans;

static void add(struct span x)
{
    spans_add(&spans, x);
}

static const struct span *find(uint64_t address)
{
    return spans_find(&spans, 1, address);
}
#endif

int main(void)
{
    static uint64_t at[BLOCKS];
    double least = 1e18, start, added;
    unsigned int wrong = 0;

    for (uint64_t i = 0; i < BLOCKS; i++)
        at[i] = 0x7f0000000000u + i * 65536;
    for (uint64_t i = BLOCKS - 1; i > 0; i--) {
        uint64_t k = next() % (i + 1), kept = at[i];

        at[i] = at[k];
        at[k] = kept;
    }
    start = now_ns();
    for (uint32_t i = 0; i < BLOCKS; i++)
        add((struct span){at[i], at[i] + 60000, 1, i});
    added = (now_ns() - start) / BLOCKS;
    for (int round = 0; round < ROUNDS; round++) {
        start = now_ns();
        for (uint32_t i = 0; i < LOOKS; i++) {
            uint64_t r = next();
            uint32_t block = (uint32_t)(r % BLOCKS);
            const struct span *x = find(at[block] + (r >> 20) % 60000);

            wrong += !x || x->block != block;
        }
        start = (now_ns() - start) / LOOKS;
        least = start < least ? start : least;
    }
    printf("%.0f %.0f\n", least, added);
    return wrong != 0;
}
