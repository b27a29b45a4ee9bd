#include "base/intmap.h"

#include "base/memory.h"

#include <stdlib.h>

struct intmap_slot {
    uint64_t key, value;
    bool taken;
};

static struct intmap_slot *slot_of(const struct intmap *m, uint64_t key)
{
    size_t i = (size_t)(key * 0x9e3779b97f4a7c15ull >> 20);

    while (m->slots[i & m->mask].taken && m->slots[i & m->mask].key != key)
        i++;
    return &m->slots[i & m->mask];
}

static void grow(struct intmap *m)
{
    struct intmap old = *m;

    m->mask = old.slots ? old.mask * 2 + 1 : 63;
    m->slots = memory_zeroed((m->mask + 1) * sizeof(*m->slots));
    for (size_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].taken)
            *slot_of(m, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

bool intmap_get(const struct intmap *m, uint64_t key, uint64_t *value)
{
    const struct intmap_slot *s = m->slots ? slot_of(m, key) : NULL;

    if (!s || !s->taken)
        return false;
    *value = s->value;
    return true;
}

void intmap_put(struct intmap *m, uint64_t key, uint64_t value)
{
    struct intmap_slot *s;

    if (!m->slots || m->used * 2 > m->mask)
        grow(m);
    s = slot_of(m, key);
    m->used += !s->taken;
    *s = (struct intmap_slot){key, value, true};
}

void intmap_free(struct intmap *m)
{
    free(m->slots);
    *m = (struct intmap){0};
}
