/* block_spans - see block_spans.h. */
#include "model/block_spans.h"

#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>

#define LEAF 256

struct spans_leaf {
    size_t count;
    struct span list[LEAF];
};

static bool is_after(const struct span *x, uint32_t place, uint64_t address)
{
    return x->place != place ? x->place > place : x->start > address;
}

/* How many begin at an address or before it. */
static size_t begun(const struct span *list, size_t count, uint32_t place, uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (is_after(&list[middle], place, address))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The leaf in which an address is, if it is in any. There is one at least. */
static size_t leaf_of(const struct spans *s, uint32_t place, uint64_t address)
{
    return begun(s->firsts + 1, s->count - 1, place, address);
}

const struct span *spans_find(const struct spans *s, uint32_t place, uint64_t address)
{
    const struct spans_leaf *leaf = s->count ? s->leaves[leaf_of(s, place, address)] : NULL;
    size_t at = leaf ? begun(leaf->list, leaf->count, place, address) : 0;
    const struct span *x = at ? &leaf->list[at - 1] : NULL;

    return x && x->place == place && address < x->end ? x : NULL;
}

static void add_leaf(struct spans *s, size_t at)
{
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 16;
        s->leaves = memory_resize(s->leaves, s->room * sizeof(struct spans_leaf *));
        s->firsts = memory_resize(s->firsts, s->room * sizeof(*s->firsts));
    }
    memmove(s->leaves + at + 1, s->leaves + at, (s->count - at) * sizeof(struct spans_leaf *));
    memmove(s->firsts + at + 1, s->firsts + at, (s->count - at) * sizeof(*s->firsts));
    s->leaves[at] = memory_zeroed(sizeof(struct spans_leaf));
    s->count++;
}

static void split(struct spans *s, size_t at)
{
    struct spans_leaf *left, *right;

    add_leaf(s, at + 1);
    left = s->leaves[at];
    right = s->leaves[at + 1];
    left->count = right->count = LEAF / 2;
    memcpy(right->list, left->list + LEAF / 2, sizeof(right->list) / 2);
    s->firsts[at + 1] = right->list[0];
}

static void remove_at(struct spans *s, size_t at, size_t place)
{
    struct spans_leaf *leaf = s->leaves[at];

    memmove(leaf->list + place, leaf->list + place + 1,
            (leaf->count - place - 1) * sizeof(*leaf->list));
    leaf->count--;
    if (leaf->count)
        s->firsts[at] = leaf->list[0];
    if (leaf->count || s->count == 1)
        return;
    free(leaf);
    s->count--;
    memmove(s->leaves + at, s->leaves + at + 1, (s->count - at) * sizeof(struct spans_leaf *));
    memmove(s->firsts + at, s->firsts + at + 1, (s->count - at) * sizeof(*s->firsts));
}

/* The last that begins before its end, if that is not before its beginning. False: there was none.
 */
static bool remove_overlapped(struct spans *s, const struct span *x)
{
    size_t at = leaf_of(s, x->place, x->end - 1);
    const struct spans_leaf *leaf = s->leaves[at];
    size_t place = begun(leaf->list, leaf->count, x->place, x->end - 1);

    if (!place || leaf->list[place - 1].place != x->place || leaf->list[place - 1].end <= x->start)
        return false;
    remove_at(s, at, place - 1);
    return true;
}

void spans_add(struct spans *s, struct span x)
{
    struct spans_leaf *leaf;
    size_t at, place;

    if (!s->count)
        add_leaf(s, 0);
    while (remove_overlapped(s, &x))
        ;
    at = leaf_of(s, x.place, x.start);
    if (s->leaves[at]->count == LEAF) {
        split(s, at);
        at = leaf_of(s, x.place, x.start);
    }
    leaf = s->leaves[at];
    place = begun(leaf->list, leaf->count, x.place, x.start);
    memmove(leaf->list + place + 1, leaf->list + place, (leaf->count - place) * sizeof(x));
    leaf->list[place] = x;
    leaf->count++;
}

void spans_remove(struct spans *s, struct span x)
{
    size_t at, place;

    if (!s->count)
        return;
    at = leaf_of(s, x.place, x.start);
    place = begun(s->leaves[at]->list, s->leaves[at]->count, x.place, x.start);
    if (place && s->leaves[at]->list[place - 1].place == x.place &&
        s->leaves[at]->list[place - 1].start == x.start &&
        s->leaves[at]->list[place - 1].block == x.block)
        remove_at(s, at, place - 1);
}

void spans_free(struct spans *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->leaves[i]);
    free(s->leaves);
    free(s->firsts);
    *s = (struct spans){0};
}
