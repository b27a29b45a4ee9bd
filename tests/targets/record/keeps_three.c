/* Keeps a block of 3 MiB now and then, three in all, and frees some in between: too few to say
 * whether it grows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES (3u << 20)
#define BLOCKS 3

static char *kept[BLOCKS];

static __attribute__((noinline)) char *make(void)
{
    char *p = malloc(BLOCK_BYTES);

    if (p)
        memset(p, 1, BLOCK_BYTES);
    return p;
}

int main(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        usleep(200000);
        kept[i] = make();
        free(make());
    }
    printf("%u\n", BLOCKS * BLOCK_BYTES);
    return kept[0] ? 0 : 1;
}
