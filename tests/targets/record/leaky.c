/* leaky CASE - hold memory in ways that are easily confused; all of it takes about two seconds.
 *   cache   57 MiB are kept, all in the first third of the time
 *   leak    57 MiB are kept, evenly over the time
 *   both    as leak, and beside it ten times as much that another line allocates and frees
 *   sawtooth  a buffer is filled piece by piece and then freed at once, again and again
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEPS 456
#define BLOCKS 32 /* of 4 KiB each step: 57 MiB in all */
#define BLOCK 4096
#define HELD_MOST 40

static void *kept[STEPS * BLOCKS];
static size_t kept_count;

static void __attribute__((noinline)) keep(int blocks)
{
    while (blocks--)
        kept[kept_count++] = malloc(BLOCK);
    __asm__ volatile("" ::"r"(kept) : "memory");
}

static void __attribute__((noinline)) churn(int step)
{
    static void *ring[64];

    for (int i = 0; i < 10 * BLOCKS; i++) {
        void **at = &ring[(step * 7 + i) % 64];

        free(*at);
        *at = malloc(BLOCK);
        __asm__ volatile("" ::"r"(ring) : "memory");
    }
}

static void __attribute__((noinline)) saw(void)
{
    static void *held[HELD_MOST];
    static int count;

    if (count == HELD_MOST)
        while (count)
            free(held[--count]);
    held[count++] = malloc(BLOCK * BLOCKS);
    __asm__ volatile("" ::"r"(held) : "memory");
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "leak";
    const struct timespec pause = {0, 4000000};

    for (int step = 0; step < STEPS; step++) {
        if (strcmp(kind, "cache") == 0 && step < STEPS / 3)
            keep(3 * BLOCKS);
        if (strcmp(kind, "leak") == 0 || strcmp(kind, "both") == 0)
            keep(BLOCKS);
        if (strcmp(kind, "both") == 0 || strcmp(kind, "cache") == 0)
            churn(step);
        if (strcmp(kind, "sawtooth") == 0)
            saw();
        nanosleep(&pause, NULL);
    }
    printf("%zu\n", kept_count * BLOCK);
    return 0;
}
