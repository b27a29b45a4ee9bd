/* arena - memory that lives exactly as long as one piece of work.
 *
 * Whoever makes the arena frees it; nothing inside it is freed alone. Allocation never returns
 * NULL: out of memory ends the tool (never the target, which does not link this file).
 * A zeroed `struct arena` is an empty one.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/memory.h"

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *head;
    size_t bytes; /* of all blocks */
};

void *arena_alloc(struct arena *a, size_t size); /* zeroed, 16-byte aligned */
/* A copy of old[0..old_size) in new_size zeroed bytes; grows in place where old is the last piece.
 */
void *arena_grow(struct arena *a, void *old, size_t old_size, size_t new_size);
/* As memory_fit, for an array in the arena, or NULL with no room; what is new is zeroed. */
#define arena_fit(arena, array, room, items)                                                       \
    do {                                                                                           \
        if ((size_t)(items) > (size_t)(room)) {                                                    \
            size_t arena_before_ = (size_t)(room) * sizeof(*(array));                              \
                                                                                                   \
            (room) = (__typeof__(room))memory_room((size_t)(room), (size_t)(items),                \
                                                   sizeof(*(array)), 16);                          \
            (array) = arena_grow(arena, array, arena_before_, (size_t)(room) * sizeof(*(array)));  \
        }                                                                                          \
    } while (0)
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_strndup(struct arena *a, const char *s, size_t n);
/* How much it has, used or not. */
size_t arena_bytes(const struct arena *a);
void arena_free(struct arena *a);

#endif
