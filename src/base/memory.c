#include "base/memory.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *checked(void *p)
{
    static const char sentence[] = "tidemark: out of memory\n";

    if (!p) {
        if (write(STDERR_FILENO, sentence, sizeof(sentence) - 1) < 0)
            _exit(125);
        _exit(125);
    }
    return p;
}

void *memory_resize(void *old, size_t bytes)
{
    return checked(realloc(old, bytes ? bytes : 1));
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

void memory_sort(void *items, size_t count, size_t bytes,
                 int (*compare)(const void *left, const void *right))
{
    if (count > 1)
        qsort(items, count, bytes, compare);
}
