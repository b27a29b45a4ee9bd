/* memory - the one place where the tool gives up for lack of memory, and sorting. Never linked into a target. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* As realloc and calloc, but never NULL: out of memory ends the tool with one sentence. */
void *memory_resize(void *old, size_t bytes);
void *memory_zeroed(size_t bytes);
/* Zeroed whole pages, present at once: for munmap. */
void *memory_pages(size_t bytes);
/* As qsort, which must not be given NULL, not even for no items. */
void memory_sort(void *items, size_t count, size_t bytes,
                 int (*compare)(const void *left, const void *right));

#endif
