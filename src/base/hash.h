/* hash - numbers and bytes into places of a table. Every bit of a key counts in every bit of what
 * is returned, so a table may take the low ones. Not against somebody who chooses keys to collide.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15u /* odd, its bits without a pattern: 2^64 / golden ratio */
#define HASH_START 0xcbf29ce484222325u  /* of bytes: FNV-1a */

static inline uint64_t hash_number(uint64_t key)
{
    key = (key ^ key >> 32) * HASH_FACTOR;
    return key ^ key >> 32;
}

/* One key of many numbers: begin with any, and mix in one after the other. */
static inline uint64_t hash_mix(uint64_t key, uint64_t number)
{
    return hash_number(key ^ number);
}

/* Begin with HASH_START; goes on with what it returned. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

#endif
