/* watches_dead - a program that watches memory that was freed, and memory that looks like it:
 *
 *   freed     a block that was freed before
 *   elsewhere a block that another thread has freed before
 *   reused    the same address, but another block has it by then
 *   copied    the same, and it is libc that has allocated that one
 *   inside    a freed block's address, that lies in a larger block by then
 *   mapped    a freed block's address, where the program has mapped memory since
 *   living    a block that is freed later, while it is watched
 *   still     a block that is not freed
 *   small     a block that was freed before, and is less than a hybrid recording knows each of
 */
#include "tidemark.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SMALL 600 /* bytes: libc gives the last one that was freed */
#define LARGE 40000
#define LARGER 60000

static uintptr_t block(size_t bytes)
{
    return (uintptr_t)malloc(bytes);
}

static volatile uintptr_t dead; /* so that no compiler knows of it */

static void watch(uintptr_t address, size_t bytes, const char *name)
{
    tidemark_watch((void *)address, bytes, name);
}

static void small(void)
{
    uintptr_t p = block(SMALL);

    dead = p;
    free((void *)p);
    watch(dead, SMALL, "small");
}

static void *freeing(void *p)
{
    free(p);
    return NULL;
}

static void by_another(void)
{
    pthread_t t;
    uintptr_t p = block(LARGE);
    void *fence = malloc(SMALL);

    dead = p;
    pthread_create(&t, NULL, freeing, (void *)p);
    pthread_join(t, NULL);
    watch(dead, LARGE, "elsewhere");
    tidemark_unwatch((void *)dead);
    free(fence);
}

static int reused(void)
{
    char text[SMALL];
    uintptr_t p = block(SMALL);

    memset(text, 'x', sizeof(text));
    text[SMALL - 1] = 0;
    dead = p;
    free((void *)p);
    p = block(SMALL);
    if (p != dead)
        return 1;
    watch(p, SMALL, "reused");
    tidemark_unwatch((void *)p);
    free((void *)p);
    p = (uintptr_t)strdup(text);
    if (p != dead)
        return 2;
    watch(p, SMALL, "copied");
    return 0;
}

/* In the heap it grows into what lies behind it, as far as there is nothing. */
static int inside(void)
{
    uintptr_t first = block(LARGER), second = block(LARGER);
    void *fence = malloc(SMALL), *larger;

    dead = second;
    free((void *)second);
    larger = realloc((void *)first, LARGER + LARGE);
    if ((uintptr_t)larger != first || dead <= first || dead >= first + LARGER + LARGE)
        return 3;
    watch(dead, LARGE / 2, "inside");
    return !fence;
}

static int mapped(void)
{
    size_t bytes = (size_t)1 << 20;
    void *p = NULL, *q;

    if (posix_memalign(&p, 4096, bytes))
        return 4;
    dead = (uintptr_t)p;
    free(p);
    q = mmap((void *)dead, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if ((uintptr_t)q != dead)
        return 5;
    watch(dead, bytes, "mapped");
    return 0;
}

int main(void)
{
    uintptr_t living, still, p = block(LARGE);
    void *fence = malloc(SMALL);
    int wrong;

    dead = p;
    free((void *)p);
    watch(dead, LARGE, "freed");
    tidemark_unwatch((void *)dead);
    by_another();
    wrong = reused();
    wrong = wrong ? wrong : inside();
    wrong = wrong ? wrong : mapped();
    living = block(LARGE);
    still = block(LARGE);
    watch(living, LARGE, "living");
    watch(still, LARGE, "still");
    free((void *)living);
    small();
    return fence ? wrong : 9;
}
