/* intmap - see intmap.h: open addressing, at most half full. A slot with key 0 is empty, so that a
 * slot is two numbers and no more; the key 0 itself is kept apart. Keys may come from somebody who
 * would like them to share one place: where they go is known to this process alone.
 */
#include "base/intmap.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <unistd.h>

struct intmap_slot {
    uint64_t key, value;
};

/* Drawn once; where the system has nothing to draw from, of where things are in memory. */
static const uint64_t *secrets(void)
{
    static uint64_t drawn[2];

    if (!drawn[1] && getentropy(drawn, sizeof(drawn)) != 0)
        drawn[0] = drawn[1] = hash_number((uintptr_t)&drawn ^
                                          (uintptr_t)__builtin_frame_address(0));
    drawn[1] |= 1;
    return drawn;
}

uint64_t intmap_hash(uint64_t key)
{
    const uint64_t *secret = secrets();

    return hash_number((hash_number(key) + secret[0]) * secret[1]);
}

static struct intmap_slot *slot_of(const struct intmap *m, uint64_t key)
{
    size_t i = (size_t)intmap_hash(key);

    while (m->slots[i & m->mask].key && m->slots[i & m->mask].key != key)
        i++;
    return &m->slots[i & m->mask];
}

static void grow(struct intmap *m)
{
    struct intmap old = *m;

    m->mask = old.slots ? old.mask * 2 + 1 : 63;
    m->slots = memory_zeroed((m->mask + 1) * sizeof(*m->slots));
    for (size_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].key)
            *slot_of(m, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

bool intmap_get(const struct intmap *m, uint64_t key, uint64_t *value)
{
    const struct intmap_slot *s;

    if (!key && m->has_zero)
        *value = m->zero;
    if (!key || !m->slots)
        return !key && m->has_zero;
    s = slot_of(m, key);
    if (!s->key)
        return false;
    *value = s->value;
    return true;
}

void intmap_put(struct intmap *m, uint64_t key, uint64_t value)
{
    struct intmap_slot *s;

    if (!key) {
        m->zero = value;
        m->has_zero = true;
        return;
    }
    if (!m->slots || m->used * 2 > m->mask)
        grow(m);
    s = slot_of(m, key);
    m->used += !s->key;
    *s = (struct intmap_slot){key, value};
}

void intmap_free(struct intmap *m)
{
    free(m->slots);
    *m = (struct intmap){0};
}
