/* stacks - see stacks.h. A stack is known by a 64-bit hash of its frames: among a million stacks,
 * two share one with a chance of 1 in 37 million. Its number is its place in the table.
 *
 * Stacks that follow one another differ in their innermost frames. So a thread keeps the last one:
 * the hash goes on from where they part, and the collector is told the rest of the frames alone.
 */
#include "inject/stacks.h"

#include "inject/buffer.h"
#include "inject/modules.h"

#include <string.h>

/* How many of the outermost frames are those of the trail. */
static size_t shared_with(const struct trail *trail, const uint64_t *frames, size_t count)
{
    size_t most = count < trail->count ? count : trail->count, i = 0;

    while (i < most && trail->frames[i] == frames[count - 1 - i])
        i++;
    return i;
}

/* The trail becomes its first `shared` frames and what comes after them in it, up to `count`. The
 * hash of all.
 */
static uint64_t follow(struct trail *trail, size_t shared, size_t count, uint64_t seed)
{
    uint64_t h = shared ? trail->hashes[shared - 1] : seed * 0x9e3779b97f4a7c15u;

    for (size_t i = shared; i < count; i++) {
        h = (h ^ trail->frames[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
        trail->hashes[i] = h;
    }
    trail->count = (uint32_t)count;
    return h | 2; /* 0 and 1 are no keys */
}

/* What the trail has besides what the collector knows: the frames after the first `shared` of
 * `from`, which had `had`. Records have the innermost first.
 */
static void tell(struct thread *t, uint32_t number, size_t shared, uint32_t from, size_t had)
{
    uint64_t base = from && shared ? (uint64_t)from << 32 | (had - shared) : 0;
    size_t count = t->told.count, own = base ? count - shared : count;

    for (size_t i = 0; i < own; i++)
        t->mixed[i] = t->told.frames[count - 1 - i];
    modules_again(t, t->mixed, own);
    buffer_put(t, (uint64_t)number << 32 | (uint64_t)own << 5 | RING_STACK, &base, 1,
               (const char *)t->mixed, own * sizeof(*t->mixed));
}

#define NEWS_MOST 1024u /* how new the last stacks were: each that was adds one, */
#define NEWS_LOST 32u   /* and one that was not takes so many away */
#define NEWS_MANY 960u  /* from here on only the first of so many is looked for: */
#define NEWS_EACH 4u

/* To look for a stack among millions is a miss of the cache in each of several tables, and where
 * nearly all are new it is in vain: most are then given a number unseen. One that does come again
 * has two numbers, and is told twice: the collector makes one stack of them.
 */
static uint32_t number_unseen(struct thread *t)
{
    if (t->news < NEWS_MANY || !mode_is_exact(local.mode) || ++t->unseen % NEWS_EACH == 0)
        return 0;
    return numbers_unseen(&process.stacks);
}

static enum lookup_claim look_for(struct thread *t, uint64_t h, uint32_t *number,
                                  struct lookup_entry **entry)
{
    enum lookup_claim claim = numbers_claim(&process.stacks, h, number, entry);

    if (claim == LOOKUP_FOUND)
        t->news -= t->news < NEWS_LOST ? t->news : NEWS_LOST;
    else
        t->news += t->news < NEWS_MOST;
    return claim;
}

static struct numbered *near_of(struct thread *t, uint64_t h)
{
    return &t->stacks[(h >> 20) % (mode_is_exact(local.mode) ? NUMBERED : NUMBERED_FEW)];
}

/* The number of the trail, of whose `count` frames the first `shared` are those that it had before.
 */
static uint32_t number_of(struct thread *t, size_t shared, size_t count, bool *known)
{
    struct trail *trail = &t->told;
    size_t had = trail->count;
    uint64_t h = follow(trail, shared, count, t->generation);
    uint32_t from = trail->number, number;
    struct numbered *near = near_of(t, h);
    struct lookup_entry *entry = NULL;

    trail->number = 0;
    *known = true;
    if (near->hash == h)
        return trail->number = (uint32_t)near->number;
    number = number_unseen(t);
    if (!number && look_for(t, h, &number, &entry) == LOOKUP_FULL)
        return 0;
    *known = entry && buffer_knows(t, &entry->value);
    if (!*known)
        tell(t, number, shared, from, had);
    if (!*known && entry)
        buffer_told(t, &entry->value);
    *near = (struct numbered){h, number};
    return trail->number = number;
}

uint32_t stacks_number(struct thread *t, const uint64_t *frames, size_t count, bool *known)
{
    size_t shared = shared_with(&t->told, frames, count);

    for (size_t i = shared; i < count; i++)
        t->told.frames[i] = frames[count - 1 - i];
    return number_of(t, shared, count, known);
}

uint32_t stacks_grown(struct thread *t, size_t shared, size_t more, bool *known)
{
    size_t count = shared + more, i = shared;

    while (i < count && i < t->told.count && t->told.frames[i] == t->mixed[i - shared])
        i++;
    if (i < count)
        memcpy(&t->told.frames[i], &t->mixed[i - shared], (count - i) * sizeof(*t->mixed));
    return number_of(t, i, count, known);
}
