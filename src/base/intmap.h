/* intmap - from a number to a number; grows as needed. A zeroed one is empty. */
#ifndef BASE_INTMAP_H
#define BASE_INTMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intmap {
    struct intmap_slot *slots;
    size_t mask, used;
};

/* False when the key is not there. */
bool intmap_get(const struct intmap *m, uint64_t key, uint64_t *value);
void intmap_put(struct intmap *m, uint64_t key, uint64_t value);
void intmap_free(struct intmap *m);

/* One key of many numbers: begin with any, and mix in one after the other. */
static inline uint64_t intmap_mix(uint64_t key, uint64_t value)
{
    key = (key ^ value) * 0x9e3779b97f4a7c15ull;
    return key ^ key >> 32;
}

#endif
