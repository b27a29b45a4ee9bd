/* intmap - from a number to a number; grows as needed. A zeroed one is empty. */
#ifndef BASE_INTMAP_H
#define BASE_INTMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intmap {
    struct intmap_slot *slots;
    size_t mask, used;
    uint64_t zero; /* the value of the key 0 */
    bool has_zero;
};

/* False when the key is not there. */
bool intmap_get(const struct intmap *m, uint64_t key, uint64_t *value);
void intmap_put(struct intmap *m, uint64_t key, uint64_t value);
void intmap_free(struct intmap *m);

/* A place in a table for a key, that nobody else can foresee; another one in each process. */
uint64_t intmap_hash(uint64_t key);

#endif
