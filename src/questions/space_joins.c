/* space_joins - see space_joins.h. */
#include "questions/space_joins.h"

#include "base/count.h"

#include <string.h>
#include <strings.h>

/* ---- pools ---- */

enum { POOL, RESERVED_PEAK, RESERVED_LIVE, USED_PEAK, USED_LIVE, UNUSED };

static const struct table_column pool_columns[] = {
    [POOL] = {"pool", UNIT_TEXT},
    [RESERVED_PEAK] = {"reserved_peak", UNIT_BYTES},
    [RESERVED_LIVE] = {"reserved_end", UNIT_BYTES},
    [USED_PEAK] = {"used_peak", UNIT_BYTES},
    [USED_LIVE] = {"used_end", UNIT_BYTES},
    [UNUSED] = {"unused_end", UNIT_BYTES},
};

/* "pool:NAME" and "reserved:NAME" */
static const char *pool_of(const struct space_row *r)
{
    return strchr(r->space->name, ':') ? strchr(r->space->name, ':') + 1 : r->space->name;
}

static const struct space_row *find(const struct space_row *rows, size_t count,
                                    enum trace_space_kind kind, const char *pool)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].space->kind == kind && rows[i].any && strcmp(pool_of(&rows[i]), pool) == 0)
            return &rows[i];
    return NULL;
}

static void add_pool(struct answer *a, struct table *t, const char *pool,
                     const struct space_row *reserved, const struct space_row *used)
{
    struct table_cell *c = table_add(a, t);

    cell_text(&c[POOL], pool);
    if (reserved) {
        cell_number(&c[RESERVED_PEAK], reserved->peak);
        cell_number(&c[RESERVED_LIVE], reserved->live);
    }
    if (used) {
        cell_number(&c[USED_PEAK], used->peak);
        cell_number(&c[USED_LIVE], used->live);
    }
    if (reserved && used && reserved->live >= used->live)
        cell_number(&c[UNUSED], reserved->live - used->live);
}

void space_joins_pools(const struct space_row *rows, size_t count, struct answer *a)
{
    struct table *t = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct space_row *r = &rows[i];
        bool heap = r->space->kind == TRACE_SPACE_RESERVED;

        if (!r->any || (!heap && (r->space->kind != TRACE_SPACE_POOL ||
                                  find(rows, count, TRACE_SPACE_RESERVED, pool_of(r)))))
            continue;
        if (!t)
            t = answer_add(a, "pools", TABLE_ROWS, pool_columns, COUNT(pool_columns));
        add_pool(a, t, pool_of(r), heap ? r : NULL,
                 heap ? find(rows, count, TRACE_SPACE_POOL, pool_of(r)) : r);
    }
    if (t)
        t->note =
            "By the program's own word (NVTX, MSTX): reserved is what a pool has to hand out, used what "
            "it has handed out. It is memory within that of other spaces.";
}

/* ---- devices ---- */

enum {
    SPACE,
    DEVICE,
    ALLOCATED,
    OURS,
    USED,
    TOTAL,
    ALLOCATED_BASIS,
    OURS_BASIS,
    USED_BASIS,
};

static const struct table_column device_columns[] = {
    [SPACE] = {"space", UNIT_TEXT},
    [DEVICE] = {"device", UNIT_TEXT},
    [ALLOCATED] = {"allocated_peak", UNIT_BYTES},
    [OURS] = {"ours_peak", UNIT_BYTES},
    [USED] = {"used_peak", UNIT_BYTES},
    [TOTAL] = {"total", UNIT_BYTES},
    [ALLOCATED_BASIS] = {"allocated_basis", UNIT_TEXT},
    [OURS_BASIS] = {"ours_basis", UNIT_TEXT},
    [USED_BASIS] = {"used_basis", UNIT_TEXT},
};

/* By the name that it has in programs, or by its place on the bus, which the library has told. */
static bool is_of(const struct run_device *d, const char *space, const char *bus)
{
    return (d->space && strcmp(d->space, space) == 0) ||
           (d->bus && bus && strcasecmp(d->bus, bus) == 0);
}

static void fill_range(struct answer *a, const struct run_device *d, const struct run_range *r,
                       struct table_cell *peak, struct table_cell *basis)
{
    if (!r->count)
        return;
    cell_number(peak, r->most);
    cell_text(basis, arena_printf(a->arena, "sampled, %s", d->way ? d->way : "the driver"));
}

static void add_device(struct answer *a, struct table *t, const struct space_row *s,
                       const struct run_device *d)
{
    struct table_cell *c = table_add(a, t);
    uint64_t total;

    cell_text(&c[SPACE], s->space->name);
    cell_text(&c[DEVICE], d->label);
    if (s->any) {
        cell_number(&c[ALLOCATED], s->peak);
        cell_text(&c[ALLOCATED_BASIS], "exact, by calls");
    }
    fill_range(a, d, &d->ours, &c[OURS], &c[OURS_BASIS]);
    fill_range(a, d, &d->used, &c[USED], &c[USED_BASIS]);
    if (metrics_get(&d->most, METRIC_DEVICE_TOTAL, &total))
        cell_number(&c[TOTAL], total);
}

void space_joins_devices(const struct space_row *rows, size_t count, const struct run *r,
                         struct answer *a)
{
    struct table *t = NULL;

    for (size_t i = 0; i < count; i++) {
        const char *name = rows[i].space->name;
        const char *bus = names_find(r->names, TRACE_OF_RUN,
                                     arena_printf(a->arena, "%s%s", FACT_SPACE_BUS, name));

        for (size_t k = 0; k < r->device_count; k++) {
            if (!is_of(r->devices[k], name, bus))
                continue;
            if (!t)
                t = answer_add(a, "on_devices", TABLE_ROWS, device_columns, COUNT(device_columns));
            add_device(a, t, &rows[i], r->devices[k]);
        }
    }
    if (t)
        t->note =
            "allocated: what the program's calls asked for; ours: what the driver says that these processes hold, "
            "with what it takes for itself; used: what everybody holds. Peaks, each of its own moment.";
}
