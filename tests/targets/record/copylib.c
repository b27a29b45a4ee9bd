/* copylib - an object that is loaded while the program runs, and copies 1280 MiB. */
#include <string.h>

#define BLOCK (64 * 1024)

void copy_much(void);

static char from[BLOCK], to[BLOCK];
static volatile size_t block = BLOCK;

void copy_much(void)
{
    for (int i = 0; i < 1280 * 1024 * 1024 / BLOCK; i++)
        memcpy(to, from, block);
}
