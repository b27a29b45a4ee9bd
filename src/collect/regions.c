/* regions - see regions.h. A region with a number may be ended by another thread: it then stays in
 * the list of the thread that opened it, and is dropped when it comes to light there.
 *
 * A program may open and end as many as it likes, in any order: no record may cost a long search.
 */
#include "collect/regions.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MOST 65536 /* what a program leaves open beyond is forgotten */
#define NEAR 64         /* from the end of a list: further down it stays until it comes to light */

static bool push(struct regions *r, struct region one)
{
    if (r->count == OPEN_MOST)
        return false;
    memory_fit(r->open, r->room, r->count + 1);
    r->open[r->count++] = one;
    r->nested += !one.number;
    return true;
}

/* ---- of a process ---- */

/* Numbers of regions that were closed fill the map: it is made anew from those that are open. */
static void tidy(struct regions *process)
{
    if (process->by_number.used <= 8 * process->count + 4096)
        return;
    intmap_free(&process->by_number);
    for (size_t i = 0; i < process->count; i++)
        intmap_put(&process->by_number, process->open[i].number, i + 1);
}

/* Its place + 1; 0: it is not open. */
static size_t place_of(const struct regions *process, uint64_t number)
{
    uint64_t place;

    return intmap_get(&process->by_number, number, &place) ? (size_t)place : 0;
}

static void add_numbered(struct regions *process, struct region one)
{
    size_t place = place_of(process, one.number);

    if (place)
        process->open[place - 1] = one; /* of two with one number, the later counts */
    else if (push(process, one))
        intmap_put(&process->by_number, one.number, process->count);
}

static uint64_t take_numbered(struct regions *process, uint64_t number)
{
    size_t place = place_of(process, number);
    uint64_t region;

    if (!place)
        return 0;
    region = process->open[place - 1].region;
    process->open[place - 1] = process->open[--process->count];
    intmap_put(&process->by_number, process->open[place - 1].number, place);
    intmap_put(&process->by_number, number, 0);
    tidy(process);
    return region;
}

/* ---- of a thread ---- */

/* Where the number is among the last ones, counted from 1; 0: it is not there. */
static size_t find(const struct regions *r, uint64_t number, size_t most)
{
    size_t i = r->count, end = i > most ? i - most : 0;

    while (i > end && r->open[i - 1].number != number)
        i--;
    return i > end ? i : 0;
}

static uint64_t take(struct regions *r, size_t place)
{
    uint64_t region = r->open[place - 1].region;

    r->nested -= !r->open[place - 1].number;
    memmove(&r->open[place - 1], &r->open[place], (r->count - place) * sizeof(*r->open));
    r->count--;
    return region;
}

/* The innermost of a thread that is still open. */
static uint64_t innermost(const struct regions *process, struct regions *thread)
{
    while (thread->count > 0) {
        struct region *last = &thread->open[thread->count - 1];
        size_t place = last->number ? place_of(process, last->number) : 0;

        if (!last->number || (place && process->open[place - 1].region == last->region))
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
        add_numbered(process, (struct region){region, number});
    return parent;
}

uint64_t regions_end(struct regions *process, struct regions *thread, uint64_t number)
{
    size_t place;

    if (!number)
        return regions_left(thread);
    place = find(thread, number, NEAR);
    if (place)
        take(thread, place);
    return take_numbered(process, number);
}

uint64_t regions_left(struct regions *r)
{
    size_t place = r->nested ? find(r, 0, OPEN_MOST) : 0;

    return place ? take(r, place) : 0;
}

void regions_free(struct regions *r)
{
    free(r->open);
    intmap_free(&r->by_number);
    memset(r, 0, sizeof(*r));
}
