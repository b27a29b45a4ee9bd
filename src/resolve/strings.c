/* strings - see strings.h. */
#include "resolve/strings.h"

#include "base/hash.h"

#include <string.h>

const char *strings_keep(struct strings *s, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    uint64_t kept, hash;
    char *copy;

    if (length == 0)
        return NULL;
    for (hash = hash_bytes(HASH_START, text, length); intmap_get(&s->by_hash, hash, &kept);
         hash++) {
        if (strcmp((const char *)(uintptr_t)kept, text) == 0)
            return (const char *)(uintptr_t)kept;
    }
    copy = arena_strndup(&s->arena, text, length);
    intmap_put(&s->by_hash, hash, (uint64_t)(uintptr_t)copy);
    return copy;
}

void strings_free(struct strings *s)
{
    intmap_free(&s->by_hash);
    arena_free(&s->arena);
}
