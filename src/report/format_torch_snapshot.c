/* format_torch_snapshot - the events of a recording as a memory snapshot of PyTorch, for its own
 * viewers (torch/cuda/_memory_viz.py and the page memory_viz): a pickle of plain data.
 *
 * A process of the trace is a device: that on which its memory was, or the next that is free.
 * Recordings of the host have no segments, and exact ones no addresses: each block is a segment of
 * its own, at addresses that follow each other and are never used again.
 */
#include "base/memory.h"
#include "report/event_rows.h"
#include "report/formats.h"
#include "report/pickled.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ADDRESS ((uint64_t)0x7f << 40)
#define ALIGNED 512u
#define DEVICES_MOST 4096u
#define LARGE ((uint64_t)1 << 20) /* bytes: what PyTorch calls a large one */

struct device {
    uint64_t index;
    int first, last; /* 1 + row: of its own */
};

struct snapshot {
    struct pickled p;
    struct event_rows rows;
    struct arena arena;
    struct device *devices; /* by order of first sight */
    size_t count, room;
    struct intmap of;        /* by process: 1 + its place */
    struct intmap taken;     /* indices */
    int *next;               /* by row: 1 + the next one of its device */
    struct intmap addresses; /* by block */
    struct intmap alive;     /* by block: 1 + row of its allocation; 0: freed */
    uint64_t address;
    uint64_t most; /* the greatest index + 1 */
};

/* ---- devices ---- */

static uint64_t choose_index(struct snapshot *s, uint64_t wanted)
{
    uint64_t known,
        index = wanted < DEVICES_MOST && !intmap_get(&s->taken, wanted, &known) ? wanted : s->most;

    intmap_put(&s->taken, index, 1);
    s->most = index + 1 > s->most ? index + 1 : s->most;
    return index;
}

static struct device *device_of(struct snapshot *s, const struct event_row *row)
{
    uint64_t place;

    if (!intmap_get(&s->of, row->process, &place)) {
        memory_fit(s->devices, s->room, s->count + 1);
        s->devices[s->count] = (struct device){.index = choose_index(s, row->device)};
        place = ++s->count;
        intmap_put(&s->of, row->process, place);
    }
    return &s->devices[place - 1];
}

static void group(struct snapshot *s)
{
    s->next = memory_zeroed(((size_t)s->rows.table->rows + 1) * sizeof(*s->next));
    for (int i = 0; i < s->rows.table->rows; i++) {
        struct event_row row = event_row_at(&s->rows, i);
        struct device *d = device_of(s, &row);

        if (d->last)
            s->next[d->last - 1] = i + 1;
        else
            d->first = i + 1;
        d->last = i + 1;
        intmap_put(&s->alive, row.block, row.freed ? 0 : (uint64_t)i + 1);
    }
}

/* ---- stacks ---- */

static void put_frame(struct snapshot *s, const struct table_frame *f)
{
    const char *name = f->function ? f->function : table_frame_text(&s->arena, f);

    if (pickled_again(&s->p, f))
        return;
    pickled_open(&s->p, '{');
    pickled_text(&s->p, "filename");
    pickled_text(&s->p, f->file ? f->file : f->module ? f->module : "??");
    pickled_pair(&s->p, "line", f->line);
    pickled_text(&s->p, "name");
    pickled_text(&s->p, name);
    pickled_close(&s->p, '}');
    pickled_keep(&s->p, f);
}

/* Each stack and each frame is written once, and referred to afterwards. */
static void put_frames(struct snapshot *s, const struct table_stack *stack)
{
    static const char none[] = "no frames";
    const void *place = stack ? (const void *)stack : none;

    pickled_text(&s->p, "frames");
    if (pickled_again(&s->p, place))
        return;
    pickled_open(&s->p, '[');
    for (; stack; stack = stack->outer)
        for (int i = 0; i < stack->own; i++)
            put_frame(s, &stack->frames[i]);
    pickled_close(&s->p, ']');
    pickled_keep(&s->p, place);
}

/* ---- events ---- */

static uint64_t address_of(struct snapshot *s, const struct event_row *row)
{
    uint64_t known;

    if (intmap_get(&s->addresses, row->block, &known))
        return known;
    known = s->address;
    s->address += (row->bytes / ALIGNED + 1) * ALIGNED;
    intmap_put(&s->addresses, row->block, known);
    return known;
}

static void put_event(struct snapshot *s, const struct event_row *row, const char *action)
{
    pickled_open(&s->p, '{');
    pickled_text(&s->p, "action");
    pickled_text(&s->p, action);
    pickled_pair(&s->p, "addr", address_of(s, row));
    pickled_pair(&s->p, "size", row->bytes);
    pickled_pair(&s->p, "stream", 0);
    pickled_pair(&s->p, "time_us", (s->rows.started_ns + row->time_ns) / 1000);
    put_frames(s, row->freed ? NULL : row->stack);
    pickled_close(&s->p, '}');
}

static void put_device(struct snapshot *s, const struct device *d)
{
    static const char *const lives[] = {"segment_alloc", "alloc", NULL};
    static const char *const dies[] = {"free_requested", "free_completed", "segment_free", NULL};

    pickled_open(&s->p, '[');
    for (int i = d ? d->first : 0; i; i = s->next[i - 1]) {
        struct event_row row = event_row_at(&s->rows, i - 1);
        const char *const *all = row.freed ? dies : lives;

        for (; *all; all++)
            put_event(s, &row, *all);
    }
    pickled_close(&s->p, ']');
}

static int by_index(const void *left, const void *right)
{
    const struct device *a = left, *b = right;

    return a->index < b->index ? -1 : a->index > b->index;
}

/* A list for each device, also for those without memory. Which row is whose is known by now. */
static void put_devices(struct snapshot *s)
{
    uint64_t index = 0;

    memory_sort(s->devices, s->count, sizeof(*s->devices), by_index);
    pickled_text(&s->p, "device_traces");
    pickled_open(&s->p, '[');
    for (size_t i = 0; i < s->count; i++, index++) {
        for (; index < s->devices[i].index; index++)
            put_device(s, NULL);
        put_device(s, &s->devices[i]);
    }
    pickled_close(&s->p, ']');
}

/* ---- segments: what lived at the end ---- */

static void put_block(struct snapshot *s, const struct event_row *row)
{
    pickled_text(&s->p, "blocks");
    pickled_open(&s->p, '[');
    pickled_open(&s->p, '{');
    pickled_pair(&s->p, "address", address_of(s, row));
    pickled_pair(&s->p, "size", row->bytes);
    pickled_pair(&s->p, "requested_size", row->bytes);
    pickled_text(&s->p, "state");
    pickled_text(&s->p, "active_allocated");
    put_frames(s, row->stack);
    pickled_close(&s->p, '}');
    pickled_close(&s->p, ']');
}

static void put_segment(struct snapshot *s, const struct device *d, const struct event_row *row)
{
    static const char *const sizes[] = {"total_size", "allocated_size", "active_size",
                                        "requested_size"};

    pickled_open(&s->p, '{');
    pickled_pair(&s->p, "device", d->index);
    pickled_pair(&s->p, "address", address_of(s, row));
    for (int i = 0; i < 4; i++)
        pickled_pair(&s->p, sizes[i], row->bytes);
    pickled_pair(&s->p, "stream", 0);
    pickled_text(&s->p, "segment_type");
    pickled_text(&s->p, row->bytes > LARGE ? "large" : "small");
    pickled_text(&s->p, "segment_pool_id");
    pickled_both(&s->p, 0, 0);
    pickled_text(&s->p, "is_expandable");
    pickled_bool(&s->p, false);
    put_frames(s, row->stack);
    put_block(s, row);
    pickled_close(&s->p, '}');
}

static void put_segments(struct snapshot *s)
{
    pickled_text(&s->p, "segments");
    pickled_open(&s->p, '[');
    for (size_t d = 0; d < s->count; d++)
        for (int i = s->devices[d].first; i; i = s->next[i - 1]) {
            struct event_row row = event_row_at(&s->rows, i - 1);
            uint64_t alive = 0;

            if (intmap_get(&s->alive, row.block, &alive) && alive == (uint64_t)i)
                put_segment(s, &s->devices[d], &row);
        }
    pickled_close(&s->p, ']');
}

/* ---- the whole ---- */

static void put_settings(struct snapshot *s)
{
    pickled_text(&s->p, "allocator_settings");
    pickled_open(&s->p, '{');
    pickled_text(&s->p, "max_split_size");
    pickled_signed(&s->p, -1);
    pickled_text(&s->p, "expandable_segments");
    pickled_bool(&s->p, false);
    pickled_close(&s->p, '}');
    pickled_text(&s->p, "external_annotations");
    pickled_open(&s->p, '[');
    pickled_close(&s->p, ']');
}

static void write_torch_snapshot(const struct answer *a, FILE *out)
{
    struct snapshot s = {.p.out = out, .rows = event_rows_of(a), .address = FIRST_ADDRESS};

    group(&s);
    pickled_begin(&s.p);
    pickled_open(&s.p, '{');
    put_devices(&s);
    put_segments(&s);
    put_settings(&s);
    pickled_close(&s.p, '}');
    pickled_end(&s.p);
    intmap_free(&s.of);
    intmap_free(&s.taken);
    intmap_free(&s.addresses);
    intmap_free(&s.alive);
    free(s.devices);
    free(s.next);
    arena_free(&s.arena);
}

const struct format format_torch_snapshot = {
    .name = "torch-snapshot",
    .summary = "a memory snapshot of PyTorch, for memory_viz",
    .question = "events",
    .write = write_torch_snapshot,
};
