/* stacks - see stacks.h. A stack is known by a 64-bit hash of its frames: among a million stacks, two
 * share one with a chance of 1 in 37 million. Its number is its place in the table.
 */
#include "inject/stacks.h"

#include "inject/buffer.h"
#include "inject/modules.h"

static uint64_t hash_of(const uint64_t *frames, size_t count, uint32_t generation)
{
    uint64_t h = count * 0x9e3779b97f4a7c15u + generation;

    for (size_t i = 0; i < count; i++) {
        h = (h ^ frames[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h | 2; /* 0 and 1 are no keys */
}

uint32_t stacks_number(struct thread *t, const uint64_t *frames, size_t count)
{
    uint64_t h = hash_of(frames, count, t->generation);
    struct numbered *near = &t->stacks[(h >> 20) % NUMBERED];
    uint32_t number;
    struct lookup_entry *entry;

    if (near->hash == h)
        return (uint32_t)near->number;
    if (lookup_claim_entry(&process.stacks, h, &number, &entry) == LOOKUP_FULL)
        return 0;
    if (!buffer_knows(t, &entry->value)) {
        modules_again(t, frames, count);
        buffer_put(t, (uint64_t)number << 32 | (uint64_t)count << 5 | RING_STACK, frames, count,
                   NULL, 0);
        buffer_told(t, &entry->value);
    }
    *near = (struct numbered){h, number};
    return number;
}

uint32_t stacks_part(struct thread *t, const uint64_t *frames, size_t count)
{
    uint64_t h = hash_of(frames, count, ~t->generation);
    uint32_t number;

    return lookup_claim(&process.stacks, h, &number) == LOOKUP_FULL ? 0 : number;
}
