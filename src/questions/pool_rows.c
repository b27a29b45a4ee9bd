/* pool_rows - see pool_rows.h. */
#include "questions/pool_rows.h"

#include "base/absent.h"
#include "base/count.h"
#include "base/memory.h"
#include "questions/heap_cells.h"

enum { POOL, SEGMENTS, RESERVED, USED, REQUESTED, FREE, LARGEST, SCATTERED };

static const struct table_column columns[] = {
    [POOL] = {"pool", UNIT_TEXT},
    [SEGMENTS] = {"segments", UNIT_COUNT},
    [RESERVED] = {"reserved", UNIT_BYTES},
    [USED] = {"used", UNIT_BYTES},           /* with what sizes are rounded up by */
    [REQUESTED] = {"requested", UNIT_BYTES}, /* without */
    [FREE] = {"free", UNIT_BYTES},
    [LARGEST] = {"largest_free", UNIT_BYTES},
    [SCATTERED] = {"scattered", UNIT_PERCENT}, /* of what is free: not in the largest piece */
};

void pool_rows_known(struct table_cell *c, uint64_t number)
{
    if (number != ABSENT)
        cell_number(c, number);
}

uint64_t pool_rows_free(const struct reserve *x)
{
    uint64_t taken = x->used != ABSENT ? x->used : x->requested;

    return taken == ABSENT ? ABSENT : x->bytes > taken ? x->bytes - taken : 0;
}

struct table *pool_rows_table(struct answer *a)
{
    return answer_add(a, "pools", TABLE_ROWS, columns, COUNT(columns));
}

static void sum(uint64_t *to, uint64_t number)
{
    *to = *to == ABSENT || number == ABSENT ? ABSENT : *to + number;
}

static void put(struct answer *a, struct table *t, const char *name, const struct reserve *list,
                size_t count)
{
    struct reserve all = {0};
    uint64_t left = 0;
    struct table_cell *c = table_add(a, t);

    for (size_t i = 0; i < count; i++) {
        sum(&all.bytes, list[i].bytes);
        sum(&all.used, list[i].used);
        sum(&all.requested, list[i].requested);
        sum(&left, pool_rows_free(&list[i]));
        if (list[i].largest_free == ABSENT || all.largest_free == ABSENT)
            all.largest_free = ABSENT;
        else if (list[i].largest_free > all.largest_free)
            all.largest_free = list[i].largest_free;
    }
    cell_text(&c[POOL], name);
    cell_number(&c[SEGMENTS], count);
    cell_number(&c[RESERVED], all.bytes);
    pool_rows_known(&c[USED], all.used);
    pool_rows_known(&c[REQUESTED], all.requested);
    pool_rows_known(&c[FREE], left);
    pool_rows_known(&c[LARGEST], all.largest_free);
    if (left != ABSENT && all.largest_free != ABSENT && left)
        heap_cell_percent(&c[SCATTERED], (double)left - (double)all.largest_free, (double)left);
}

static int by_process(const void *a, const void *b)
{
    const struct reserve *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

void pool_rows_put_all(struct answer *a, struct table *t, struct heap *h, const char *name,
                       struct reserves *r)
{
    memory_sort(r->list, r->count, sizeof(*r->list), by_process);
    for (size_t i = 0, n; i < r->count; i += n) {
        const struct heap_process *p = heap_process_of(h, r->list[i].process);
        const char *own = p && p->run ? p->run->name : NULL;

        for (n = 1; i + n < r->count && r->list[i + n].process == r->list[i].process;)
            n++;
        put(a, t, name ? name : own, r->list + i, n);
    }
}
