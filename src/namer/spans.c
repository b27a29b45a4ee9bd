/* spans - see spans.h: sorted by where they begin, and searched by halves. */
#include "namer/spans.h"

#include "base/memory.h"
#include "base/search.h"

#include <stdlib.h>

#define STEPS_MOST 256 /* how far back an enclosing span is looked for: files are hostile */

void spans_add(struct spans *s, struct arena *arena, struct span span)
{
    arena_fit(arena, s->list, s->room, s->count + 1);
    s->list[s->count++] = span;
}

static int by_low(const void *x, const void *y)
{
    const struct span *a = x, *b = y;

    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->what < b->what ? -1 : a->what > b->what; /* the same order on every machine */
}

void spans_sort(struct spans *s)
{
    uint64_t reach = 0, next = 0;

    memory_sort(s->list, s->count, sizeof(*s->list), by_low);
    for (size_t i = s->count; i-- > 0;) {
        struct span *span = &s->list[i];

        if (i + 1 < s->count && s->list[i + 1].low > span->low)
            next = s->list[i + 1].low;
        if (span->high <= span->low) {
            span->open = true;
            span->high = next > span->low ? next : span->low;
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        reach = s->list[i].high > reach ? s->list[i].high : reach;
        s->list[i].reach = reach;
    }
}

/* How many begin at the address or before it. */
static size_t begun(const struct spans *s, uint64_t address)
{
    size_t low = 0;

    SEARCH(low, s->count, i, s->list[i].low <= address);
    return low;
}

const struct span *spans_at(const struct spans *s, uint64_t address)
{
    const struct span *guess = NULL;
    size_t i = begun(s, address);

    for (int steps = 0; i-- > 0 && s->list[i].reach > address && steps < STEPS_MOST; steps++) {
        const struct span *span = &s->list[i];

        if (span->high <= address)
            continue;
        if (!span->open)
            return span->what == SPANS_NOTHING ? NULL : span;
        if (!guess && span->what != SPANS_NOTHING)
            guess = span;
    }
    return guess;
}

bool spans_find(const struct spans *s, uint64_t address, uint32_t *what)
{
    const struct span *span = spans_at(s, address);

    *what = span ? span->what : SPANS_NOTHING;
    return span;
}
