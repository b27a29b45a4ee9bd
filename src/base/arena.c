/* arena - see arena.h: blocks of doubling size, filled one after the other. Only the last block is
 * looked at, so a piece that does not fit leaves the rest of the block before it unused.
 */
#include "base/arena.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_FIRST 4096u /* small: most runs of the tool need little */
#define BLOCK_LARGEST (1024u * 1024)

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(16) char data[];
};

static size_t round_up(size_t size)
{
    return (size + 15) & ~(size_t)15;
}

static struct arena_block *block_add(struct arena *a, size_t size)
{
    size_t room = a->head ? a->head->size * 2 : BLOCK_FIRST;
    struct arena_block *b;

    if (room > BLOCK_LARGEST)
        room = BLOCK_LARGEST;
    if (room < size)
        room = size + size / 2; /* room to grow in place; what is not touched costs nothing */
    b = memory_zeroed(sizeof(*b) + room);
    b->size = room;
    a->bytes += room;
    b->next = a->head;
    a->head = b;
    return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
    struct arena_block *b = a->head;

    size = round_up(size);
    if (!b || b->size - b->used < size)
        b = block_add(a, size);
    b->used += size;
    return b->data + b->used - size;
}

void *arena_grow(struct arena *a, void *old, size_t old_size, size_t new_size)
{
    struct arena_block *b = a->head;
    size_t extra = round_up(new_size) - round_up(old_size);
    void *p;

    if (old && (char *)old + round_up(old_size) == b->data + b->used &&
        b->size - b->used >= extra) {
        b->used += extra;
        return old;
    }
    p = arena_alloc(a, new_size);
    if (old)
        memcpy(p, old, old_size);
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);

    memcpy(copy, s, n);
    return copy;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    char *s;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    s = arena_alloc(a, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return s;
}

size_t arena_bytes(const struct arena *a)
{
    return a->bytes;
}

void arena_free(struct arena *a)
{
    a->bytes = 0;
    while (a->head) {
        struct arena_block *b = a->head;

        a->head = b->next;
        free(b);
    }
}
