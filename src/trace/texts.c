/* texts - see texts.h. */
#include "trace/texts.h"

#include "base/hash.h"

#include <string.h>

#define SLOTS_FIRST 256u

struct text {
    const char *text;
    size_t len;
    uint64_t hash;
};

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t *find_slot(const struct texts *t, const struct text *wanted)
{
    for (uint32_t i = (uint32_t)wanted->hash;; i++) {
        uint32_t *slot = &t->slots[i & (t->slot_count - 1)];
        const struct text *known = &t->of[*slot];

        if (*slot == 0 || (known->hash == wanted->hash && known->len == wanted->len &&
                           memcmp(known->text, wanted->text, wanted->len) == 0))
            return slot;
    }
}

/* At most half of the slots are ever taken. */
static void grow(struct texts *t, struct arena *a)
{
    uint32_t old = t->slot_count / 2 + 1;

    t->slot_count = t->slot_count ? t->slot_count * 2 : SLOTS_FIRST;
    t->of = arena_grow(a, t->of, t->of ? old * sizeof(*t->of) : 0,
                       (t->slot_count / 2 + 1) * sizeof(*t->of));
    t->slots = arena_alloc(a, t->slot_count * sizeof(*t->slots));
    for (uint32_t i = 1; i <= t->count; i++)
        *find_slot(t, &t->of[i]) = i;
}

uint32_t texts_number(struct texts *t, struct arena *a, const char *text, size_t len, bool *added)
{
    struct text wanted = {.text = text, .len = len};
    uint32_t *slot;

    if (t->count == t->slot_count / 2)
        grow(t, a);
    wanted.hash = hash_number(hash_bytes(HASH_START, text, len));
    slot = find_slot(t, &wanted);
    *added = *slot == 0;
    if (*added) {
        wanted.text = arena_strndup(a, text, len);
        t->bytes += len + sizeof(wanted);
        *slot = ++t->count;
        t->of[*slot] = wanted;
    }
    return *slot;
}
