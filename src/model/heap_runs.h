/* heap_runs - living blocks of one size and stack: so many of a cell and an owner, the newest
 * first; and those that were freed last, which may be taken back.
 *
 * Where a stretch is told finer, a run is still of a cell of the coarse grid, so that each free
 * takes from the same run; beside it stands how many are of which fine cell.
 */
#ifndef MODEL_HEAP_RUNS_H
#define MODEL_HEAP_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_run {
    uint32_t next, owner, count; /* next: its place in the list; 0: none */
    uint32_t parts;              /* of a finer grid: the first, by `next`; 0: there is none */
    uint16_t cell;
};

struct heap_runs { /* zeroed: empty */
    struct heap_run *list;
    size_t count, room;
    uint32_t unused; /* by `next` */
    bool finer;
};

/* Where a block is: in the grid by which it is found, and in the one that is told. */
struct heap_cell {
    uint16_t coarse, fine;
};

/* So many more blocks in the runs that *first leads to. */
void heap_runs_add(struct heap_runs *r, uint32_t *first, uint32_t owner, struct heap_cell cell,
                   uint32_t count);
/* One less of the run that *link leads to: its cell. Of several, the first from `likely` on. */
struct heap_cell heap_runs_take(struct heap_runs *r, uint32_t *link, uint16_t likely);
/* All of the run that *link leads to: what is left of one cell, until there is nothing. */
uint32_t heap_runs_take_all(struct heap_runs *r, uint32_t *link, uint16_t *cell);
/* All of the first run, if it is of this cell and owner; else 0. */
uint32_t heap_runs_take_first(struct heap_runs *r, uint32_t *first, uint32_t owner, uint16_t cell);
/* What leads to the run of a cell and an owner; NULL: there is none. */
uint32_t *heap_runs_named(struct heap_runs *r, uint32_t *first, uint32_t owner, uint16_t cell);

struct heap_freed_one { /* info 0: none, or it was taken back */
    uint32_t info, owner;
    struct heap_cell birth;
    uint16_t death;
};

struct heap_freed { /* of a process; zeroed: none */
    struct heap_freed_one *list;
    uint32_t count;
};

void heap_freed_note(struct heap_freed *f, struct heap_freed_one one);
/* The last of such a block; NULL: it was too long ago. */
struct heap_freed_one *heap_freed_find(const struct heap_freed *f, uint32_t info);

#endif
