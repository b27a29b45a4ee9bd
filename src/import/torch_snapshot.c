/* torch_snapshot - memory snapshots of PyTorch: torch.cuda.memory._dump_snapshot after
 * _record_memory_history, or a pickle of _snapshot().
 *
 *   {"segments": [{device, address, total_size, stream, frames,
 *     blocks: [{address, size, requested_size, state, frames}]}],
 *    "device_traces": [[{action, addr, size, stream, time_us, frames}]], ...}
 *
 * A device is a process of the trace, a stream of it a thread. A block lives from `alloc` to
 * `free_completed`: until then its memory cannot be used again. The history may begin late, as it
 * is a ring: a block that is freed in it or alive at its end, but not allocated in it, was there
 * when it began.
 */
#include "import/importer.h"
#include "import/pickle.h"
#include "import/torch_taking.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES_MOST 4096u

/* ---- what was there when the history began ---- */

/* At its first moment, or (see settle) where there is none at that of all. */
static void add_before(struct torch_taking *t, struct intake_event e, enum intake_kind kind)
{
    e.kind = kind;
    e.time_ns = t->first_ns;
    e.order = t->before++;
    intake_add(t->in, e);
}

static uint64_t key_of(const struct intake_event *e)
{
    bool segment = e->kind == INTAKE_SEGMENT || e->kind == INTAKE_SEGMENT_END;

    return e->key << 1 | segment;
}

/* What its history frees without having allocated it. */
static void add_freed(struct torch_taking *t, size_t from)
{
    size_t to = t->in->count;

    for (size_t i = from; i < to; i++) {
        struct intake_event e = t->in->events[i];
        uint64_t alive = 0;
        bool ends = e.kind == INTAKE_FREE || e.kind == INTAKE_SEGMENT_END;

        if (e.info || (!ends && e.kind != INTAKE_ALLOC && e.kind != INTAKE_SEGMENT))
            continue;
        if (ends && !intmap_get(&t->alive, key_of(&e), &alive))
            add_before(t, e, e.kind == INTAKE_FREE ? INTAKE_ALLOC : INTAKE_SEGMENT);
        intmap_put(&t->alive, key_of(&e), !ends);
    }
}

static bool is_active(const struct torch_taking *t, pickle_value block)
{
    pickle_value state = pickle_get(t->p, block, "state");
    size_t length;
    const char *text = pickle_text(t->p, state, &length);

    return text && length >= 6 && memcmp(text, "active", 6) == 0;
}

/* Older versions keep stack and size in the block's history, the latest first. */
static pickle_value context_of(const struct torch_taking *t, pickle_value block, const char *key)
{
    struct pickle_items history = pickle_items(t->p, pickle_get(t->p, block, "history"));
    pickle_value v = pickle_get(t->p, block, key);

    return v || !history.count ? v : pickle_get(t->p, history.of[0], key);
}

static uint64_t requested(struct torch_taking *t, pickle_value block)
{
    pickle_value v = context_of(t, block, "requested_size");

    v = v ? v : context_of(t, block, "real_size");
    return torch_bytes(t, v ? v : pickle_get(t->p, block, "size"));
}

/* The blocks of a segment without an address (of old versions) follow each other. */
static void add_blocks(struct torch_taking *t, pickle_value segment, uint32_t thread,
                       uint64_t address)
{
    struct pickle_items blocks = pickle_items(t->p, pickle_get(t->p, segment, "blocks"));

    for (uint32_t i = 0; i < blocks.count; i++) {
        uint64_t size = torch_bytes(t, pickle_get(t->p, blocks.of[i], "size")), alive = 0;
        struct intake_event e = {.kind = INTAKE_ALLOC, .thread = thread};

        address = pickle_number(t->p, pickle_get(t->p, blocks.of[i], "address"), address);
        e.key = address;
        address += size;
        if (!is_active(t, blocks.of[i]) || (intmap_get(&t->alive, key_of(&e), &alive) && alive))
            continue;
        e.bytes = requested(t, blocks.of[i]);
        e.stack = torch_stack(t, context_of(t, blocks.of[i], "frames"));
        intmap_put(&t->alive, key_of(&e), 1);
        add_before(t, e, INTAKE_ALLOC);
    }
}

static uint64_t number(const struct torch_taking *t, pickle_value of, const char *key)
{
    return pickle_number(t->p, pickle_get(t->p, of, key), 0);
}

/* What is free in it are blocks as well. */
static void add_pool(struct torch_taking *t, pickle_value segment, uint32_t thread)
{
    struct pickle_items blocks = pickle_items(t->p, pickle_get(t->p, segment, "blocks"));
    struct trace_pool pool = {.thread = thread,
                              .address = number(t, segment, "address"),
                              .bytes = torch_bytes(t, pickle_get(t->p, segment, "total_size"))};

    for (uint32_t i = 0; i < blocks.count; i++) {
        uint64_t size = torch_bytes(t, pickle_get(t->p, blocks.of[i], "size"));

        if (is_active(t, blocks.of[i])) {
            pool.blocks++;
            pool.used += size;
            pool.requested += requested(t, blocks.of[i]);
        } else if (size > pool.largest_free) {
            pool.largest_free = size;
        }
    }
    if (blocks.count)
        intake_pool(t->in, pool);
}

static void add_segment(struct torch_taking *t, pickle_value segment)
{
    struct intake_event e = {
        .kind = INTAKE_SEGMENT,
        .key = pickle_number(t->p, pickle_get(t->p, segment, "address"), 0),
        .bytes = torch_bytes(t, pickle_get(t->p, segment, "total_size")),
        .thread = torch_thread(t, pickle_number(t->p, pickle_get(t->p, segment, "stream"), 0)),
    };
    pickle_value grows = pickle_get(t->p, segment, "is_expandable");
    uint64_t alive = 0;

    if (pickle_number(t->p, grows, 0)) {
        t->grown.bytes += e.bytes;
        t->grown.key = e.key;
        t->grown.thread = e.thread;
    } else if (!intmap_get(&t->alive, key_of(&e), &alive) || !alive) {
        e.stack = torch_stack(t, pickle_get(t->p, segment, "frames"));
        add_before(t, e, INTAKE_SEGMENT);
    }
    add_blocks(t, segment, e.thread, e.key);
    add_pool(t, segment, e.thread);
}

/* Parts of segments that grow have addresses of their own: what the history has not mapped was
 * there. */
static void add_grown(struct torch_taking *t)
{
    uint64_t all = t->grown.bytes + t->unmapped;

    if (!t->grown.thread || all <= t->mapped)
        return;
    t->grown.bytes = all - t->mapped;
    add_before(t, t->grown, INTAKE_SEGMENT);
}

/* ---- the whole ---- */

static uint64_t device_of(const struct torch_taking *t, pickle_value segment)
{
    return pickle_number(t->p, pickle_get(t->p, segment, "device"), 0);
}

/* Its history, and the segments that are its own: the first ones of a list. How many they are. */
static uint32_t take_device(struct torch_taking *t, uint64_t device, pickle_value history,
                            const pickle_value *segments, uint32_t count)
{
    struct pickle_items events = pickle_items(t->p, history);
    size_t from = t->in->count;
    uint32_t own = 0;

    while (own < count && device_of(t, segments[own]) == device)
        own++;
    if (!own && !events.count)
        return 0;
    torch_begin_device(t, device);
    for (uint32_t i = 0; i < events.count; i++)
        torch_take_event(t, events.of[i]);
    add_freed(t, from);
    for (uint32_t i = 0; i < own; i++)
        add_segment(t, segments[i]);
    add_grown(t);
    return own;
}

static int by_device(const void *left, const void *right, const void *context)
{
    const pickle_value *a = left, *b = right;
    uint64_t of_a = device_of(context, *a), of_b = device_of(context, *b);

    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

/* A history for each, and segments of any. */
static void take_devices(struct torch_taking *t, struct pickle_items histories,
                         struct pickle_items segments)
{
    pickle_value *sorted = memory_zeroed(((size_t)segments.count + 1) * sizeof(*sorted));
    uint32_t at = 0;

    for (uint32_t i = 0; i < segments.count; i++)
        sorted[i] = segments.of[i];
    memory_sort_with(sorted, segments.count, sizeof(*sorted), by_device, t);
    for (uint32_t i = 0; i < DEVICES_MOST && (i < histories.count || at < segments.count); i++)
        at += take_device(t, i, i < histories.count ? histories.of[i] : 0, sorted + at,
                          segments.count - at);
    free(sorted);
}

/* -1: it is none. */
static int take_snapshot(struct torch_taking *t, pickle_value whole)
{
    bool alone = pickle_type(t->p, whole) == PICKLE_LIST; /* of memory_snapshot(): segments */
    pickle_value list = alone ? whole : pickle_get(t->p, whole, "segments");
    struct pickle_items segments = pickle_items(t->p, list);
    struct pickle_items histories = pickle_items(t->p, pickle_get(t->p, whole, "device_traces"));

    if (!list || (alone && !(segments.count && pickle_get(t->p, segments.of[0], "blocks"))))
        return -1;
    take_devices(t, histories, segments);
    return 0;
}

/* Devices without a history are as the others were at their beginning. */
static void settle(struct intake *in)
{
    uint64_t first_ns = UINT64_MAX;

    for (size_t i = 0; i < in->count; i++)
        first_ns = in->events[i].time_ns < first_ns ? in->events[i].time_ns : first_ns;
    for (size_t i = 0; i < in->count; i++)
        if (in->events[i].time_ns == UINT64_MAX)
            in->events[i].time_ns = first_ns == UINT64_MAX ? 0 : first_ns;
}

static int read_snapshot(const struct import_file *f, struct intake *in, struct err *err)
{
    struct pickle p = {0};
    struct torch_taking t = {.p = &p, .in = in};
    pickle_value whole = pickle_read(&p, f->bytes, f->size, err);
    int result = whole ? take_snapshot(&t, whole) : -1;

    if (whole && result < 0)
        err_set(err,
                "'%s' is a pickle but not a memory snapshot: what torch.cuda.memory._dump_snapshot "
                "writes has 'segments' and 'device_traces'",
                f->path);
    if (!result && t.absurd) {
        err_set(err,
                "'%s' has sizes that no memory has, negative ones or above 128 PiB: it is damaged",
                f->path);
        result = -1;
    }
    settle(in);
    in->since_1970 = t.timed;
    if (!t.timed)
        in->lacks = "the snapshot has no times: its events are shown a microsecond apart";
    intmap_free(&t.stacks);
    intmap_free(&t.threads);
    intmap_free(&t.alive);
    pickle_free(&p);
    return result;
}

static bool knows(const struct import_file *f)
{
    return f->size >= 2 && f->bytes[0] == 0x80 && f->bytes[1] >= 2 && f->bytes[1] <= 5;
}

const struct importer importer_torch_snapshot = {
    .name = "a PyTorch memory snapshot (.pickle)",
    .summary =
        "what torch.cuda.memory._dump_snapshot writes after _record_memory_history: allocations "
        "and frees with their stacks, sizes and times, and reserved segments, of each device. No "
        "code in the pickle is run; a pickle that needs that is refused",
    .knows = knows,
    .read = read_snapshot,
};
