/* memory - see memory.h. */
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void (*at_end)(void);

void memory_at_end(void (*last)(void))
{
    at_end = last;
}

void memory_give_up(void)
{
    static const char sentence[] = "tidemark: out of memory\n";

    if (at_end)
        at_end();
    (void)!write(STDERR_FILENO, sentence, sizeof(sentence) - 1);
    _exit(125);
}

static void *checked(void *p)
{
    if (!p)
        memory_give_up();
    return p;
}

void *memory_resize(void *old, size_t bytes)
{
    return checked(realloc(old, bytes ? bytes : 1));
}

size_t memory_room(size_t room, size_t items, size_t each, size_t least)
{
    if (items > SIZE_MAX / 2 / each)
        memory_give_up();
    for (room = room ? room : 1; room < items || room * each < least;)
        room *= 2;
    return room;
}

void *memory_zeroed(size_t bytes)
{
    return checked(calloc(1, bytes ? bytes : 1));
}

void *memory_pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                   -1, 0);

    return checked(p == MAP_FAILED ? NULL : p);
}

/* What was recorded mostly is in order, and to see that takes one look at each. */
static bool is_sorted(const char *items, size_t count, size_t bytes,
                      int (*compare)(const void *left, const void *right))
{
    for (size_t i = 1; i < count; i++)
        if (compare(items + (i - 1) * bytes, items + i * bytes) > 0)
            return false;
    return true;
}

void memory_sort(void *items, size_t count, size_t bytes,
                 int (*compare)(const void *left, const void *right))
{
    if (count > 1 && !is_sorted(items, count, bytes, compare))
        qsort(items, count, bytes, compare);
}

struct sorting {
    int (*compare)(const void *left, const void *right, const void *context);
    const void *context;
};

/* qsort_r would have the context be something that may be changed. */
static int compare_with(const void *left, const void *right, void *to)
{
    const struct sorting *s = to;

    return s->compare(left, right, s->context);
}

void memory_sort_with(void *items, size_t count, size_t bytes,
                      int (*compare)(const void *left, const void *right, const void *context),
                      const void *context)
{
    struct sorting sorting = {compare, context};

    if (count > 1)
        qsort_r(items, count, bytes, compare_with, &sorting);
}
