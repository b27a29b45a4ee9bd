/* memory - the one place where the tool gives up for lack of memory. Never linked into a target. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

/* As realloc and calloc, but never NULL: out of memory ends the tool with one sentence. */
void *memory_resize(void *old, size_t bytes);
void *memory_zeroed(size_t bytes);
/* Zeroed whole pages, present at once: for munmap. */
void *memory_pages(size_t bytes);

#endif
