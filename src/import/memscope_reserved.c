/* memscope_reserved - see memscope.h: which memory of the driver a pool has reserved, by the blocks
 * that were in it while it lived.
 *
 * Living blocks of the driver do not overlap, so the one that an address is in is the last that
 * begins at or before it. Beginnings are ranked; how many live up to a rank is in a tree of sums
 * (Fenwick's).
 */
#include "import/memscope.h"

#include <stdlib.h>

struct ranks {
    const struct memscope *m;
    uint32_t *order; /* rows that are allocations of the driver, by process and address */
    uint32_t *sums;  /* from 1 */
    size_t count, room;
};

static int by_place(const void *left, const void *right, const void *context)
{
    const struct memscope_row *rows = context;
    const struct memscope_row *a = &rows[*(const uint32_t *)left];
    const struct memscope_row *b = &rows[*(const uint32_t *)right];

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return *(const uint32_t *)left < *(const uint32_t *)right ? -1 : 1;
}

static void change(struct ranks *r, size_t rank, uint32_t by)
{
    for (size_t i = rank + 1; i <= r->count; i += i & -i)
        r->sums[i] += by;
}

static uint32_t living_up_to(const struct ranks *r, size_t ranks)
{
    uint32_t sum = 0;

    for (size_t i = ranks; i; i -= i & -i)
        sum += r->sums[i];
    return sum;
}

/* The rank of the n-th that lives, from 1. */
static size_t find_living(const struct ranks *r, uint32_t n)
{
    size_t at = 0, step = 1;

    while (step * 2 <= r->count)
        step *= 2;
    for (; step; step /= 2)
        if (at + step <= r->count && r->sums[at + step] < n) {
            at += step;
            n -= r->sums[at];
        }
    return at;
}

/* How many begin at or before an address of a process. */
static size_t ranks_before(const struct ranks *r, const struct memscope_row *row)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct memscope_row *at = &r->m->rows[r->order[middle]];

        if (at->process < row->process ||
            (at->process == row->process && at->address <= row->address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The living block of the driver that it is in. */
static struct memscope_row *holder_of(const struct ranks *r, const struct memscope_row *row)
{
    uint32_t n = living_up_to(r, ranks_before(r, row));
    struct memscope_row *held;

    if (!n)
        return NULL;
    memory_is_there(r->order);
    held = &r->m->rows[r->order[find_living(r, n)]];
    return held->process == row->process && row->address - held->address < held->bytes ? held
                                                                                       : NULL;
}

static void follow(struct ranks *r, const uint32_t *rank_of)
{
    struct intmap born = {0}; /* process and block of the driver: 1 + row */

    for (size_t i = 0; i < r->m->count; i++) {
        struct memscope_row *row = &r->m->rows[i], *holder;
        uint64_t key = row->block << 12 ^ row->process, place = 0;

        if (row->event > MEMSCOPE_FREE)
            continue;
        if (!row->driver) {
            holder = row->event == MEMSCOPE_MALLOC ? holder_of(r, row) : NULL;
            if (holder)
                holder->reserved = true;
            continue;
        }
        if (intmap_get(&born, key, &place) && place)
            change(r, rank_of[place - 1], UINT32_MAX);
        intmap_put(&born, key, row->event == MEMSCOPE_MALLOC ? i + 1 : 0);
        if (row->event == MEMSCOPE_MALLOC)
            change(r, rank_of[i], 1);
    }
    intmap_free(&born);
}

/* What a free ends is what its allocation was. */
static void tell_frees(struct memscope *m)
{
    struct intmap born = {0};

    for (size_t i = 0; i < m->count; i++) {
        struct memscope_row *row = &m->rows[i];
        uint64_t key = row->block << 12 ^ row->process, place = 0;

        if (row->event > MEMSCOPE_FREE || !row->driver)
            continue;
        if (row->event == MEMSCOPE_MALLOC)
            intmap_put(&born, key, i + 1);
        else if (intmap_get(&born, key, &place))
            row->reserved = m->rows[place - 1].reserved;
    }
    intmap_free(&born);
}

void memscope_find_reserved(struct memscope *m)
{
    struct ranks r = {.m = m};
    uint32_t *rank_of = memory_zeroed((m->count + 1) * sizeof(*rank_of));

    for (size_t i = 0; i < m->count; i++)
        if (m->rows[i].event == MEMSCOPE_MALLOC && m->rows[i].driver) {
            memory_fit(r.order, r.room, r.count + 1);
            r.order[r.count++] = (uint32_t)i;
        }
    memory_sort_with(r.order, r.count, sizeof(*r.order), by_place, m->rows);
    for (size_t i = 0; i < r.count; i++)
        rank_of[r.order[i]] = (uint32_t)i;
    r.sums = memory_zeroed((r.count + 1) * sizeof(*r.sums));
    follow(&r, rank_of);
    tell_frees(m);
    free(r.sums);
    free(r.order);
    free(rank_of);
}
