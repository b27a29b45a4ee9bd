/* snapshots - see snapshots.h. Records are taken in the order of the trace, in which marks and what
 * memory of spaces does stand as they happened; samples of processes are taken at other times, and
 * the nearest counts.
 */
#include "model/snapshots.h"

#include "base/memory.h"
#include "model/allowed.h"

#include <stdlib.h>

#define ROWS_MOST 10000
#define THINGS_MOST ((size_t)1 << 22)

struct snapshots_last { /* of a process */
    struct metrics now;
    uint64_t time_ns;
    struct snapshot_spaces spaces;
};

struct snapshots_block {
    uint64_t bytes;
    size_t of; /* 1 + place in `last`; of a dead one: 1 + place of the next of them */
    uint64_t space;
};

void snapshots_start(struct snapshots *s, const struct names *names, struct threads *threads,
                     uint64_t from_ns, uint64_t to_ns)
{
    *s = (struct snapshots){.names = names, .threads = threads, .from_ns = from_ns, .to_ns = to_ns};
}

/* Of processes, regions and blocks: no more than a trace of its size may have. */
static bool is_full(const struct snapshots *s, size_t count)
{
    return count >= THINGS_MOST || count >= ALLOWED_THINGS(s->names->file_bytes);
}

static uint64_t process_of(struct snapshots *s, uint64_t thread)
{
    const struct threads_thread *t = threads_find(s->threads, thread);

    return t ? t->process : 0;
}

/* 1 + its place; 0: there are too many. Process 0 is all of them. */
static size_t last_of(struct snapshots *s, uint64_t process)
{
    uint64_t place;

    if (intmap_get(&s->samples, process + 1, &place))
        return place;
    if (is_full(s, s->last_count))
        return 0;
    memory_fit(s->last, s->last_room, s->last_count + 1);
    s->last[s->last_count++] = (struct snapshots_last){.time_ns = UINT64_MAX};
    intmap_put(&s->samples, process + 1, s->last_count);
    return s->last_count;
}

/* ---- moments ---- */

static void add_devices(const struct snapshots *s, struct snapshot *row)
{
    for (int i = 0; i < SPACES_MOST; i++) {
        uint64_t used = 0, ours = 0;

        if (metrics_get(&s->devices[i], METRIC_DEVICE_USED, &used))
            row->device_known = true;
        if (metrics_get(&s->devices[i], METRIC_DEVICE_OURS, &ours))
            row->device_ours_known = true;
        row->device_used += used;
        row->device_ours += ours;
    }
}

static void add(struct snapshots *s, const struct named_moment *m)
{
    struct snapshot row = {.measured_ns = UINT64_MAX};
    size_t at = last_of(s, m->process);

    if (m->time_ns < s->from_ns || m->time_ns > s->to_ns)
        return;
    if (s->moments.count == ROWS_MOST) {
        s->left_out++;
        return;
    }
    if (at) {
        row.process = s->last[at - 1].now;
        row.measured_ns = s->last[at - 1].time_ns;
        if (!s->full)
            row.spaces = s->last[at - 1].spaces;
    }
    add_devices(s, &row);
    memory_fit(s->moments.list, s->moments.room, s->moments.count + 1);
    memory_fit(s->rows, s->room, s->moments.count + 1);
    s->rows[s->moments.count] = row;
    s->moments.list[s->moments.count++] = *m;
}

static void take_mark(struct snapshots *s, const struct trace_event *ev)
{
    const char *name = names_get(s->names, ev->mark.name);
    struct named_moment m = {.time_ns = ev->time_ns,
                             .process = process_of(s, ev->mark.thread),
                             .thread = ev->mark.thread,
                             .kind = ev->mark.mark_kind,
                             .name = name ? name : "",
                             .value = ev->mark.value};

    if ((m.kind == TRACE_MARK_MOMENT || m.kind == TRACE_MARK_SNAPSHOT) &&
        !moments_is_ours(m.kind, m.name))
        add(s, &m);
}

static void take_region(struct snapshots *s, const struct trace_event *ev, bool end)
{
    uint64_t number = end ? ev->region_end.region : ev->region.region, name = 0;
    uint64_t thread = end ? ev->region_end.thread : ev->region.thread;
    struct named_moment m = {.time_ns = ev->time_ns,
                             .process = process_of(s, thread),
                             .thread = thread,
                             .kind = end ? SNAPSHOT_REGION_END : SNAPSHOT_REGION};

    if (!end && !is_full(s, s->regions.used))
        intmap_put(&s->regions, number, name = ev->region.name);
    else if (end)
        intmap_get(&s->regions, number, &name);
    m.name = names_get(s->names, name);
    m.name = m.name ? m.name : "";
    add(s, &m);
}

/* ---- what was measured ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static bool is_nearer(const struct named_moment *m, const struct snapshot *row, uint64_t time_ns)
{
    return row->measured_ns == UINT64_MAX ||
           distance(time_ns, m->time_ns) < distance(row->measured_ns, m->time_ns);
}

/* The moments since the sample of this process before it may be nearer to this one. */
static void look_back(struct snapshots *s, uint64_t process, const struct snapshots_last *now,
                      uint64_t before_ns)
{
    uint64_t since = before_ns == UINT64_MAX ? 0 : before_ns;

    for (size_t i = s->moments.count; i-- > 0 && s->moments.list[i].time_ns >= since;) {
        const struct named_moment *m = &s->moments.list[i];

        if (m->process == process && is_nearer(m, &s->rows[i], now->time_ns)) {
            s->rows[i].process = now->now;
            s->rows[i].measured_ns = now->time_ns;
        }
    }
}

static void take_process(struct snapshots *s, uint64_t process, const struct trace_event *ev)
{
    struct metrics m = metrics_of(ev);
    size_t at = last_of(s, process);
    uint64_t before_ns;

    if (!at)
        return;
    before_ns = s->last[at - 1].time_ns;
    metrics_overlay(&s->last[at - 1].now, &m);
    s->last[at - 1].time_ns = ev->time_ns;
    look_back(s, process, &s->last[at - 1], before_ns);
}

static void take_sample(struct snapshots *s, const struct trace_event *ev)
{
    struct metrics m;

    if (ev->sample.subject == TRACE_OF_PROCESS && ev->sample.id) {
        take_process(s, ev->sample.id, ev);
    } else if (ev->sample.subject == TRACE_OF_RUN) {
        take_process(s, 0, ev);
    } else if (ev->sample.subject == TRACE_OF_DEVICE && ev->sample.id < SPACES_MOST) {
        m = metrics_of(ev);
        metrics_overlay(&s->devices[ev->sample.id], &m);
    }
}

/* ---- memory of spaces ---- */

static uint64_t *sum_of(struct snapshot_spaces *s, uint64_t kind)
{
    s->known |= kind == TRACE_SPACE_DEVICE;
    s->pools |= kind == TRACE_SPACE_POOL || kind == TRACE_SPACE_RESERVED;
    return kind == TRACE_SPACE_DEVICE   ? &s->device
         : kind == TRACE_SPACE_POOL     ? &s->used
         : kind == TRACE_SPACE_RESERVED ? &s->reserved
                                        : NULL;
}

/* A place for a block, of one that has died or a new one; 0: there are too many, and no sum is
 * known any more. */
static size_t place_of(struct snapshots *s)
{
    size_t place = s->dead;

    if (place) {
        s->dead = s->living[place - 1].of;
        return place;
    }
    s->full |= is_full(s, s->living_count);
    if (s->full)
        return 0;
    memory_fit(s->living, s->living_room, s->living_count + 1);
    return ++s->living_count;
}

static void take_alloc(struct snapshots *s, const struct trace_event *ev)
{
    uint64_t space = ev->space_alloc.space, *sum;
    size_t at = last_of(s, process_of(s, ev->space_alloc.thread)), place;

    if (!at || space >= SPACES_MOST || !(sum = sum_of(&s->last[at - 1].spaces, s->kinds[space])) ||
        !(place = place_of(s)))
        return;
    *sum += ev->space_alloc.bytes;
    s->living[place - 1] = (struct snapshots_block){ev->space_alloc.bytes, at, space};
    intmap_put(&s->blocks, ev->space_alloc.block, place);
}

static void take_free(struct snapshots *s, const struct trace_event *ev)
{
    struct snapshots_block *b;
    uint64_t place, *sum;

    if (!intmap_get(&s->blocks, ev->space_free.block, &place) || !place)
        return;
    b = &s->living[place - 1];
    sum = sum_of(&s->last[b->of - 1].spaces, s->kinds[b->space]);
    if (sum && *sum >= b->bytes)
        *sum -= b->bytes;
    intmap_put(&s->blocks, ev->space_free.block, 0);
    b->of = s->dead;
    s->dead = place;
}

void snapshots_take(void *context, const struct trace_event *ev)
{
    struct snapshots *s = context;

    switch (ev->kind) {
    case TRACE_MARK:
        take_mark(s, ev);
        break;
    case TRACE_REGION:
    case TRACE_REGION_END:
        take_region(s, ev, ev->kind == TRACE_REGION_END);
        break;
    case TRACE_SAMPLE:
        take_sample(s, ev);
        break;
    case TRACE_SPACE:
        if (ev->space.space < SPACES_MOST)
            s->kinds[ev->space.space] = ev->space.space_kind;
        break;
    case TRACE_SPACE_ALLOC:
        take_alloc(s, ev);
        break;
    case TRACE_SPACE_FREE:
        take_free(s, ev);
        break;
    default:
        break;
    }
}

void snapshots_free(struct snapshots *s)
{
    free(s->moments.list);
    free(s->rows);
    free(s->last);
    free(s->living);
    intmap_free(&s->samples);
    intmap_free(&s->blocks);
    intmap_free(&s->regions);
}
