/* heap_runs - see heap_runs.h. */
#include "model/heap_runs.h"

#include "base/memory.h"

#define FREED 1024u /* that are known one by one */

/* The place of one more, before what *link leads to. A link may be in one of them. */
static uint32_t make(struct heap_runs *r, uint32_t *link, const uint32_t *first,
                     struct heap_run run)
{
    size_t at = link == first ? 0 : (size_t)((char *)link - (char *)r->list);
    uint32_t place = r->unused;

    if (place) {
        r->unused = r->list[place].next;
    } else {
        r->count += !r->count;
        memory_fit(r->list, r->room, r->count + 1);
        place = (uint32_t)r->count++;
        link = at ? (uint32_t *)(void *)((char *)r->list + at) : link;
    }
    run.next = *link;
    r->list[place] = run;
    *link = place;
    return place;
}

static void drop(struct heap_runs *r, uint32_t *link)
{
    uint32_t place = *link;

    *link = r->list[place].next;
    r->list[place].next = r->unused;
    r->unused = place;
}

/* More of a fine cell; the newest first. */
static void add_part(struct heap_runs *r, uint32_t run, uint16_t cell, uint32_t count)
{
    uint32_t *link = &r->list[run].parts;

    while (*link && r->list[*link].cell > cell)
        link = &r->list[*link].next;
    if (*link && r->list[*link].cell == cell)
        r->list[*link].count += count;
    else
        make(r, link, NULL, (struct heap_run){.count = count, .cell = cell});
}

/* One less: of the cell that is likely, or of the first after it, or else of the last before. */
static uint16_t take_part(struct heap_runs *r, uint32_t run, uint16_t likely)
{
    uint32_t *link = &r->list[run].parts;
    uint16_t cell = r->list[*link].cell;

    while (cell > likely && r->list[*link].next && r->list[r->list[*link].next].cell >= likely) {
        link = &r->list[*link].next;
        cell = r->list[*link].cell;
    }
    if (!--r->list[*link].count)
        drop(r, link);
    return cell;
}

/* Those of newer cells come first; a block that is taken back may be of an older one. */
void heap_runs_add(struct heap_runs *r, uint32_t *first, uint32_t owner, struct heap_cell cell,
                   uint32_t count)
{
    uint32_t *link = first, place;

    while (*link && r->list[*link].cell > cell.coarse)
        link = &r->list[*link].next;
    place = *link;
    if (place && r->list[place].cell == cell.coarse && r->list[place].owner == owner)
        r->list[place].count += count;
    else
        place = make(r, link, first,
                     (struct heap_run){.owner = owner, .count = count, .cell = cell.coarse});
    if (r->finer)
        add_part(r, place, cell.fine, count);
}

struct heap_cell heap_runs_take(struct heap_runs *r, uint32_t *link, uint16_t likely)
{
    struct heap_run *run = &r->list[*link];
    struct heap_cell cell = {run->cell, run->cell};

    if (run->parts)
        cell.fine = take_part(r, *link, likely);
    if (!--run->count)
        drop(r, link);
    return cell;
}

uint32_t heap_runs_take_all(struct heap_runs *r, uint32_t *link, uint16_t *cell)
{
    struct heap_run *run = &r->list[*link];
    uint32_t count = run->parts ? r->list[run->parts].count : run->count;

    *cell = run->parts ? r->list[run->parts].cell : run->cell;
    if (run->parts)
        drop(r, &run->parts);
    run->count -= count;
    if (!run->count)
        drop(r, link);
    return count;
}

uint32_t heap_runs_take_first(struct heap_runs *r, uint32_t *first, uint32_t owner, uint16_t cell)
{
    const struct heap_run *run = &r->list[*first];

    if (run->cell != cell || run->owner != owner)
        return 0;
    drop(r, first);
    return run->count;
}

uint32_t *heap_runs_named(struct heap_runs *r, uint32_t *first, uint32_t owner, uint16_t cell)
{
    for (uint32_t *link = first; *link; link = &r->list[*link].next)
        if (r->list[*link].cell == cell && r->list[*link].owner == owner)
            return link;
    return NULL;
}

void heap_freed_note(struct heap_freed *f, struct heap_freed_one one)
{
    if (!f->list)
        f->list = memory_zeroed(FREED * sizeof(one));
    f->list[f->count++ % FREED] = one;
}

struct heap_freed_one *heap_freed_find(const struct heap_freed *f, uint32_t info)
{
    for (uint32_t i = 0; i < FREED && i < f->count; i++) {
        struct heap_freed_one *one = &f->list[(f->count - 1 - i) % FREED];

        if (one->info == info)
            return one;
    }
    return NULL;
}
