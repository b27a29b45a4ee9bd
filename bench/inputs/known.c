/* known KIND - a program that knows to the byte what it has allocated, for bench/truth. Says, when it ends:
 * bytes and blocks allocated, the most bytes that were alive and blocks then, and both at the end.
 *
 *   churn     a small heap, replaced many times over
 *   bursts    many rounds of some thousand blocks that die together
 *   growth    what is kept beside what is not
 *   hill      up and down once, with churn all the way
 *   sizes     from 16 bytes to a MiB, as many bytes of each size
 *   large     a few large blocks beside many small ones
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 200000

static void *slots[SLOTS];
static size_t sizes[SLOTS];
static uint64_t bytes, blocks, live, live_blocks, peak, peak_blocks, state = 88172645463325252ull;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static void drop(size_t i)
{
    if (!slots[i])
        return;
    live -= sizes[i];
    live_blocks--;
    free(slots[i]);
    slots[i] = NULL;
}

static void put(size_t i, size_t size)
{
    drop(i);
    slots[i] = malloc(size);
    memset(slots[i], 1, size); /* as programs do that have a use for it */
    __asm__ volatile("" ::"r"(slots[i]) : "memory");
    sizes[i] = size;
    bytes += size;
    blocks++;
    live += size;
    live_blocks++;
    if (live > peak) {
        peak = live;
        peak_blocks = live_blocks;
    }
}

static void churn(void)
{
    for (int i = 0; i < 6000000; i++)
        put(draw(10000), 16 + draw(240));
}

static void bursts(void)
{
    for (int round = 0; round < 600; round++) {
        size_t n = 2000 + draw(6000);

        for (size_t i = 0; i < n; i++)
            put(i, 32 + draw(1000));
        for (size_t i = 0; i < n; i++)
            drop(i);
    }
}

static void growth(void)
{
    for (size_t i = 0; i < 40000; i++) {
        put(1000 + i, 40 + draw(400));
        for (int k = 0; k < 100; k++)
            put(draw(1000), 64 + draw(2000));
    }
}

static void hill(void)
{
    for (size_t i = 0; i < 60000; i++) {
        put(1000 + (i < 30000 ? i : 59999 - i), 100 + draw(900));
        if (i >= 30000)
            drop(1000 + 59999 - i);
        for (int k = 0; k < 60; k++)
            put(draw(1000), 16 + draw(500));
    }
}

static void all_sizes(void)
{
    for (int round = 0; round < 1200; round++)
        for (size_t size = 16; size <= 1 << 20; size *= 4)
            for (size_t i = 0; i < (1 << 20) / size; i += 16)
                put(draw(300), size + draw(size));
}

static void large(void)
{
    for (int round = 0; round < 5000; round++) {
        put(draw(8), 300000 + draw(3000000));
        for (int i = 0; i < 200; i++)
            put(10 + draw(20000), 16 + draw(300));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(void);
    } kinds[] = {{"churn", churn}, {"bursts", bursts},   {"growth", growth},
                 {"hill", hill},   {"sizes", all_sizes}, {"large", large}};

    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            kinds[i].work();
    fprintf(stderr, "%llu %llu %llu %llu %llu %llu\n", (unsigned long long)bytes,
            (unsigned long long)blocks, (unsigned long long)peak, (unsigned long long)peak_blocks,
            (unsigned long long)live, (unsigned long long)live_blocks);
    return 0;
}
