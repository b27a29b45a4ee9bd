/* format_memscope - the events of a recording as a dump of MindStudio MemScope (CSV), for its
 * analyses.
 *
 * Its two invariants hold: `used` is the sum of what lives on a device of a process, and each
 * allocation has its free. What lived at the end is freed by rows that are marked as a shadow, as
 * in its own dumps. Memory of a device is that of PyTorch's pool (PTA), memory of the host is HOST,
 * on the device "cpu".
 */
#include "base/hash.h"
#include "base/intmap.h"
#include "report/csv.h"
#include "report/event_rows.h"
#include "report/formats.h"

#include <inttypes.h>
#include <stdlib.h>

#define FIRST_ADDRESS ((uint64_t)0x12c0 << 32)
#define ALIGNED 512u
#define STACKS_MOST(file_bytes) (((uint64_t)128 << 20) + 1024 * (uint64_t)(file_bytes))
#define FRAMES_FEW 50

struct dump {
    FILE *out;
    struct event_rows rows;
    struct arena arena;
    struct intmap addresses; /* by block */
    struct intmap alive;     /* by block: 1 + row of its allocation; 0: freed */
    struct intmap used;      /* by pid and device */
    uint64_t address, id, last_ns;
    uint64_t room; /* for stacks, in bytes */
    uint64_t most; /* innermost frames of each kind, of a stack */
};

static uint64_t address_of(struct dump *d, const struct event_row *row)
{
    uint64_t known;

    if (intmap_get(&d->addresses, row->block, &known))
        return known;
    known = d->address;
    d->address += (row->bytes / ALIGNED + 1) * ALIGNED;
    intmap_put(&d->addresses, row->block, known);
    return known;
}

static uint64_t count_used(struct dump *d, const struct event_row *row)
{
    uint64_t key = hash_mix(hash_number(row->pid), row->device), used = 0;

    intmap_get(&d->used, key, &used);
    used += row->freed ? -row->bytes : row->bytes;
    intmap_put(&d->used, key, used);
    return used;
}

/* Lines of Python are "file(line): function", others "module(function) [address]". */
static void put_frame(struct dump *d, const struct table_frame *f, bool python)
{
    const char *file = f->file ? f->file : "";

    if (python)
        csv_inside(arena_printf(&d->arena, "%s(%" PRIu64 "): %s\n", file, f->line,
                                f->function ? f->function : "?"),
                   d->out);
    else
        csv_inside(arena_printf(&d->arena, "%s(%s) [0x%" PRIx64 "]\n", f->module ? f->module : "?",
                                f->function ? f->function : "", f->address),
                   d->out);
}

/* About so much of a row. */
static uint64_t bytes_of(const struct dump *d, const struct table_stack *stack)
{
    uint64_t count = stack ? (uint64_t)stack->count : 0;

    if (!count)
        return 0;
    return count / 2 > d->most ? stack->bytes / count * 2 * d->most : stack->bytes;
}

/* Rows repeat stacks, so that a small trace could make a dump of any size: it has room for so many.
 */
static const struct table_stack *affordable(struct dump *d, const struct table_stack *stack)
{
    uint64_t bytes = bytes_of(d, stack);

    if (bytes > d->room)
        return NULL;
    d->room -= bytes;
    return stack;
}

/* Where not all have room, each is as deep as MemScope's own are, so that what comes last has one.
 */
static void limit_stacks(struct dump *d)
{
    uint64_t bytes = 0;

    d->most = UINT64_MAX;
    for (int i = 0; i < d->rows.table->rows && bytes <= d->room; i++) {
        struct event_row row = event_row_at(&d->rows, i);

        bytes += row.freed ? 0 : bytes_of(d, row.stack);
    }
    if (bytes > d->room)
        d->most = FRAMES_FEW;
}

static void put_stack(struct dump *d, const struct table_stack *stack, bool python)
{
    const struct table_frame *frames = stack ? table_stack_whole(&d->arena, stack) : NULL;
    uint64_t count = 0;

    for (int i = 0; stack && i < stack->count && count < d->most; i++) {
        if (!!(frames[i].flags & TABLE_FRAME_PYTHON) != python)
            continue;
        if (!count++)
            fputc('"', d->out);
        put_frame(d, &frames[i], python);
    }
    if (count)
        fputc('"', d->out);
}

static void put_row(struct dump *d, const struct event_row *row, bool shadow)
{
    bool host = row->device == EVENT_DEVICE_NONE;
    uint64_t address = address_of(d, row);
    const struct table_stack *stack = row->freed ? NULL : affordable(d, row->stack);

    fprintf(d->out, "%" PRIu64 ",%s,%s,N/A,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", ++d->id,
            row->freed ? "FREE" : "MALLOC", host ? "HOST" : "PTA",
            d->rows.started_ns + row->time_ns, row->pid, row->tid);
    if (host)
        fputs("cpu", d->out);
    else
        fprintf(d->out, "%" PRIu64, row->device);
    fprintf(d->out,
            ",0x%016" PRIx64 ",\"{allocation_id:%" PRIu64 ",addr:0x%016" PRIx64 ",size:%" PRIu64
            ",used:%" PRIu64 "%s}\",",
            address, row->block, address, row->bytes, count_used(d, row),
            shadow ? ",shadow:true" : "");
    put_stack(d, stack, true);
    fputc(',', d->out);
    put_stack(d, stack, false);
    fputc('\n', d->out);
}

static void put_events(struct dump *d)
{
    for (int i = 0; i < d->rows.table->rows; i++) {
        struct event_row row = event_row_at(&d->rows, i);

        intmap_put(&d->alive, row.block, row.freed ? 0 : (uint64_t)i + 1);
        d->last_ns = row.time_ns > d->last_ns ? row.time_ns : d->last_ns;
        put_row(d, &row, false);
        arena_free(&d->arena);
    }
}

static void put_alive(struct dump *d)
{
    for (int i = 0; i < d->rows.table->rows; i++) {
        struct event_row row = event_row_at(&d->rows, i);
        uint64_t alive = 0;

        if (!intmap_get(&d->alive, row.block, &alive) || alive != (uint64_t)i + 1)
            continue;
        row.freed = true;
        row.time_ns = d->last_ns + 1;
        put_row(d, &row, true);
    }
}

static void write_memscope(const struct answer *a, FILE *out)
{
    struct dump d = {.out = out, .rows = event_rows_of(a), .address = FIRST_ADDRESS};

    d.room = STACKS_MOST(a->file_bytes);
    limit_stacks(&d);
    fputs("ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call "
          "Stack(Python),Call Stack(C)\n",
          out);
    put_events(&d);
    put_alive(&d);
    intmap_free(&d.addresses);
    intmap_free(&d.alive);
    intmap_free(&d.used);
    arena_free(&d.arena);
}

const struct format format_memscope = {
    .name = "memscope",
    .summary = "a dump of MindStudio MemScope (CSV)",
    .question = "events",
    .write = write_memscope,
};
