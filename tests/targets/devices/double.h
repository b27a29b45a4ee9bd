/* double - what the doubles of vendors' libraries share: blocks of one device of 8 GiB, in memory
 * of the host that nobody touches. Each double has the documented functions of its vendor over
 * this, and no more.
 *
 * With VIRTUAL_DEVICE (tests/doubles) it is the first device there as well, on which a process that
 * uses it holds 16 MiB besides, as a driver does: so what is allocated here is seen from outside.
 */
#ifndef TARGETS_DOUBLE_H
#define TARGETS_DOUBLE_H

#include "../../doubles/virtual.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DOUBLE_TOTAL (8ull << 30)
#define DOUBLE_CONTEXT (16ull << 20)

struct double_block {
    struct double_block *next;
    void *at;
    size_t bytes;
    const void *owner;
};

static struct double_block *double_blocks;
static size_t double_used;
static pthread_mutex_t double_lock = PTHREAD_MUTEX_INITIALIZER;

static void double_show(void)
{
    struct virtual_machine *m = virtual_machine();

    if (m)
        virtual_hold(&m->device[0], double_used + DOUBLE_CONTEXT);
}

/* NULL: more than the device has. */
static void *double_take(size_t bytes, const void *owner)
{
    struct double_block *b;
    void *at = NULL;

    pthread_mutex_lock(&double_lock);
    if (bytes && bytes <= DOUBLE_TOTAL - double_used) {
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
        b = malloc(sizeof(*b));
        *b = (struct double_block){double_blocks, at, bytes, owner};
        double_blocks = b;
        double_used += bytes;
        double_show();
    }
    pthread_mutex_unlock(&double_lock);
    return at;
}

static void double_drop(struct double_block **p)
{
    struct double_block *b = *p;

    *p = b->next;
    double_used -= b->bytes;
    double_show();
    munmap(b->at, b->bytes);
    free(b);
}

/* False: there is no such block. */
static int double_give(const void *at)
{
    struct double_block **p = &double_blocks;
    int found;

    pthread_mutex_lock(&double_lock);
    while (*p && (*p)->at != at)
        p = &(*p)->next;
    found = *p != NULL;
    if (found)
        double_drop(p);
    pthread_mutex_unlock(&double_lock);
    return found;
}

/* NULL: there is no such block. */
static __attribute__((unused)) const void *double_owner(const void *at)
{
    const void *owner = NULL;

    pthread_mutex_lock(&double_lock);
    for (const struct double_block *b = double_blocks; b; b = b->next)
        if (b->at == at)
            owner = b->owner;
    pthread_mutex_unlock(&double_lock);
    return owner;
}

static __attribute__((unused)) void double_end(const void *owner)
{
    pthread_mutex_lock(&double_lock);
    for (struct double_block **p = &double_blocks; *p;)
        if ((*p)->owner == owner)
            double_drop(p);
        else
            p = &(*p)->next;
    pthread_mutex_unlock(&double_lock);
}

#endif
