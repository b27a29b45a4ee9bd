/* once - see once.h. */
#include "gauges/once.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stddef.h>

struct once_slot {
    uint64_t key;
    uint32_t reading, value;
};

void once_forget(struct once *m)
{
    if (!m->slots)
        m->slots = memory_zeroed(ONCE_ROOM * sizeof(*m->slots));
    m->reading++;
    m->used = 0;
}

uint32_t *once_meet(struct once *m, uint64_t key, bool *fresh)
{
    uint32_t at = (uint32_t)(hash_mix(1, key) >> 32) & (ONCE_ROOM - 1);

    for (;; at = (at + 1) & (ONCE_ROOM - 1)) {
        struct once_slot *s = &m->slots[at];

        *fresh = s->reading != m->reading;
        if (!*fresh && s->key != key)
            continue;
        if (*fresh && m->used == ONCE_MOST)
            return NULL;
        if (*fresh) {
            *s = (struct once_slot){.key = key, .reading = m->reading};
            m->used++;
        }
        return &s->value;
    }
}
