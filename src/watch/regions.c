/* regions - see regions.h. A region with a number may be ended by another thread: it then stays in the
 * list of the thread that opened it, and is dropped when it comes to light there.
 */
#include "watch/regions.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MOST 65536 /* what a program leaves open beyond is forgotten */

/* Where the number is in the list, counted from 1; 0: it is not there. */
static size_t find(const struct regions *r, uint64_t number)
{
    size_t i = r->count;

    while (i > 0 && r->open[i - 1].number != number)
        i--;
    return i;
}

static void push(struct regions *r, struct region one)
{
    if (r->count == OPEN_MOST)
        return;
    if (r->count == r->room) {
        r->room = r->room ? r->room * 2 : 8;
        r->open = memory_resize(r->open, r->room * sizeof(*r->open));
    }
    r->open[r->count++] = one;
}

static uint64_t take(struct regions *r, size_t place)
{
    uint64_t region = r->open[place - 1].region;

    memmove(&r->open[place - 1], &r->open[place], (r->count - place) * sizeof(*r->open));
    r->count--;
    return region;
}

/* The innermost of a thread that is still open. */
static uint64_t innermost(const struct regions *process, struct regions *thread)
{
    while (thread->count > 0) {
        struct region *last = &thread->open[thread->count - 1];

        if (!last->number || find(process, last->number))
            return last->region;
        thread->count--;
    }
    return 0;
}

uint64_t regions_begin(struct regions *process, struct regions *thread, uint64_t region,
                       uint64_t number)
{
    uint64_t parent = innermost(process, thread);

    push(thread, (struct region){region, number});
    if (number)
        push(process, (struct region){region, number});
    return parent;
}

uint64_t regions_end(struct regions *process, struct regions *thread, uint64_t number)
{
    size_t place = find(thread, number);
    uint64_t region = 0;

    if (place)
        region = take(thread, place);
    if (!number)
        return region;
    place = find(process, number);
    return place ? take(process, place) : 0;
}

uint64_t regions_left(struct regions *r)
{
    size_t place = find(r, 0);

    return place ? take(r, place) : 0;
}

void regions_free(struct regions *r)
{
    free(r->open);
    memset(r, 0, sizeof(*r));
}
