/* align_sized - see align_sized.h. */
#include "model/align_sized.h"

#include "base/hash.h"
#include "base/intmap.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static uint64_t *keys_of(const struct align_sized *s)
{
    uint64_t *keys = memory_resize(NULL, (s->count + 1) * sizeof(*keys));

    for (size_t i = 0; i < s->count; i++)
        keys[i] = hash_mix(hash_mix(1, s->names[i]), s->sizes[i]);
    return keys;
}

/* ---- matched by both, and what is left between two matches by name ---- */

static bool fill_gap(const struct align_sized *a, const struct align_sized *b, size_t a_from,
                     size_t a_to, size_t b_from, size_t b_to, size_t *partner)
{
    bool whole;

    if (a_from == a_to || b_from == b_to)
        return true;
    whole = align(a->names + a_from, a_to - a_from, b->names + b_from, b_to - b_from,
                  partner + a_from);
    for (size_t i = a_from; i < a_to; i++)
        partner[i] += partner[i] == ALIGN_NONE ? 0 : b_from;
    return whole;
}

static bool by_both(const struct align_sized *a, const struct align_sized *b,
                    const uint64_t *keys[2], size_t *partner)
{
    size_t a_from = 0, b_from = 0;
    bool whole = true;

    align(keys[0], a->count, keys[1], b->count, partner);
    for (size_t i = 0; i < a->count; i++) {
        size_t match = partner[i];

        if (match == ALIGN_NONE)
            continue;
        whole &= fill_gap(a, b, a_from, i, b_from, match, partner);
        a_from = i + 1;
        b_from = match + 1;
    }
    return fill_gap(a, b, a_from, a->count, b_from, b->count, partner) && whole;
}

/* ---- what has moved ---- */

/* The left ones of b by key, each with the next of its kind: the first ones are taken first. */
static void list_left(struct intmap *left, const uint64_t *keys, size_t count,
                      const size_t *partner, size_t a_count, size_t *next)
{
    memset(next, 0, (count + 1) * sizeof(*next));
    for (size_t i = 0; i < a_count; i++)
        if (partner[i] != ALIGN_NONE)
            next[partner[i]] = ALIGN_NONE; /* it is taken */
    for (size_t i = count; i-- > 0;) {
        uint64_t first = 0;

        if (next[i] == ALIGN_NONE)
            continue;
        intmap_get(left, keys[i], &first);
        next[i] = (size_t)first;
        intmap_put(left, keys[i], i + 1);
    }
}

static void find_moved(const uint64_t *keys[2], size_t a_count, size_t b_count,
                       const size_t *partner, size_t *moved)
{
    struct intmap left = {0};
    size_t *next = memory_resize(NULL, (b_count + 1) * sizeof(*next));
    uint64_t first;

    list_left(&left, keys[1], b_count, partner, a_count, next);
    for (size_t i = 0; i < a_count; i++) {
        moved[i] = ALIGN_NONE;
        if (partner[i] != ALIGN_NONE || !intmap_get(&left, keys[0][i], &first) || !first)
            continue;
        moved[i] = (size_t)first - 1;
        intmap_put(&left, keys[0][i], next[first - 1]);
    }
    intmap_free(&left);
    free(next);
}

/* ---- the better of two ---- */

struct matching { /* see align_sized */
    size_t *partner, *moved;
};

/* What a match of one leaves of the difference, less what it takes from the other side's. */
static int64_t cost(const struct align_sized *a, const struct align_sized *b, size_t i,
                    const struct matching *m)
{
    size_t partner = m->partner[i] != ALIGN_NONE ? m->partner[i] : m->moved[i];
    int64_t x = (int64_t)a->sizes[i], y;

    if (partner == ALIGN_NONE)
        return x;
    y = (int64_t)b->sizes[partner];
    return (x > y ? x - y : y - x) - y;
}

/* Between two matches that both have, each may be taken: ours, unless the other leaves less. */
static void choose(const struct align_sized *a, const struct align_sized *b,
                   const struct matching *ours, const struct matching *other)
{
    int64_t our_cost = 0, other_cost = 0;
    size_t from = 0;

    for (size_t i = 0; i <= a->count; i++) {
        bool agree = i == a->count ||
                     (ours->partner[i] != ALIGN_NONE && ours->partner[i] == other->partner[i]);

        if (agree && other_cost < our_cost)
            memcpy(ours->partner + from, other->partner + from, (i - from) * sizeof(size_t));
        if (agree) {
            from = i + 1;
            our_cost = other_cost = 0;
        } else {
            our_cost += cost(a, b, i, ours);
            other_cost += cost(a, b, i, other);
        }
    }
}

bool align_sized(const struct align_sized *a, const struct align_sized *b, size_t *partner,
                 size_t *moved)
{
    uint64_t *own[2] = {keys_of(a), keys_of(b)};
    const uint64_t *keys[2] = {own[0], own[1]};
    size_t *room = memory_resize(NULL, 2 * (a->count + 1) * sizeof(*room));
    struct matching both = {partner, moved}, by_name = {room, room + a->count + 1};
    bool whole = align(a->names, a->count, b->names, b->count, by_name.partner);

    whole &= by_both(a, b, keys, partner);
    find_moved(keys, a->count, b->count, by_name.partner, by_name.moved);
    find_moved(keys, a->count, b->count, partner, moved);
    choose(a, b, &both, &by_name);
    find_moved(keys, a->count, b->count, partner, moved);
    free(room);
    free(own[0]);
    free(own[1]);
    return whole;
}
