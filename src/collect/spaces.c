/* spaces - see spaces.h. */
#include "collect/spaces.h"

#include "base/memory.h"
#include "collect/put.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCESS_KINDS 32u /* above all flags of an access */

#define SPACE_NAME_MOST 32
#define SEVERAL UINT64_MAX /* buses */

#define MAPPING_CLASS 0x10000u /* of a mapping of what has this class besides */

/* ---- from the ring ---- */

/* Two processes may see other devices under the same number: then it is no place. */
static void take_bus(struct absorb *a, const char *name, uint64_t name_bytes, const char *bus,
                     uint64_t bytes, uint64_t string)
{
    static const char several[] = "several";
    char key[sizeof(FACT_SPACE_BUS) + SPACE_NAME_MOST];
    uint64_t space, before = 0;

    if (!intmap_get(&a->spaces.spaces, string, &space) || name_bytes > SPACE_NAME_MOST)
        return;
    snprintf(key, sizeof(key), "%s%.*s", FACT_SPACE_BUS, (int)name_bytes, name);
    string = trace_store_string(a->store, bus, bytes);
    if (intmap_get(&a->spaces.buses, space, &before) && (before == string || before == SEVERAL))
        return;
    intmap_put(&a->spaces.buses, space, before ? SEVERAL : string);
    if (before)
        trace_store_fact(a->store, TRACE_OF_RUN, 0, key, several, sizeof(several) - 1);
    else
        trace_store_fact(a->store, TRACE_OF_RUN, 0, key, bus, bytes);
}

static uint32_t define(struct absorb *a, struct absorb_process *p, const char *name, uint64_t bytes,
                       uint64_t kind)
{
    uint64_t string = absorb_string(a, p, name, bytes), space;
    struct trace_space fields = {0, string, kind};

    if (intmap_get(&a->spaces.spaces, string, &space))
        return (uint32_t)space;
    fields.space = ++a->spaces.count;
    intmap_put(&a->spaces.spaces, string, fields.space);
    trace_store_put(a->store, TRACE_SPACE, 0, (const uint64_t *)&fields, 3, NULL, 0);
    return (uint32_t)fields.space;
}

/* "hip:0", or "hip:0@0000:03:00.0" where the place of the device is told. */
static uint32_t space_of(struct absorb *a, struct absorb_process *p, const char *name,
                         uint64_t bytes, uint64_t kind)
{
    const char *bus = kind == TRACE_SPACE_DEVICE ? memchr(name, '@', bytes) : NULL;
    uint64_t length = bus ? (uint64_t)(bus - name) : bytes;
    uint32_t space = define(a, p, name, length, kind);

    if (bus && length + 1 < bytes)
        take_bus(a, name, length, bus + 1, bytes - length - 1, absorb_string(a, p, name, length));
    return space;
}

static bool is_sound(const uint64_t *w, unsigned int what)
{
    uint64_t kinds = what == RING_SPACE_ACCESS ? ACCESS_KINDS : RING_SPACE_KINDS;

    return what < RING_SPACE_END && (w[6] & UINT32_MAX) <= w[6] >> 32 &&
           (w[3] & UINT32_MAX) < kinds;
}

bool spaces_take(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first)
{
    struct absorb_process *p = r->process;
    uint64_t text = w[6] >> 32, part = w[6] & UINT32_MAX;
    unsigned int aux = (unsigned int)(first >> 5) & 0x7ff;
    bool launches = (aux & 7) == RING_SPACE_LAUNCHES;
    struct space_event e = {.time_ns = absorb_time(a, r, launches ? 0 : w[4]),
                            .handle = w[1],
                            .bytes = w[2],
                            .owner = w[5],
                            .read = launches ? w[4] : 0,
                            .known = launches && (w[3] & UINT32_MAX),
                            .kind = w[3] & UINT32_MAX,
                            .thread = r->thread,
                            .what = aux & 7,
                            .class = aux >> 3};

    if (!is_sound(w, e.what))
        return false;
    if (!a->store)
        return true;
    e.stack = stackmap_stack(&p->stacks, (uint32_t)(w[3] >> 32));
    e.context = contexts_of(&p->contexts, &r->labels, &a->contexts, a->store);
    if (part)
        e.space = space_of(a, p, (const char *)(w + 7), part, w[3] & UINT32_MAX);
    if (text > part)
        e.call = absorb_string(a, p, (const char *)(w + 7) + part, text - part);
    r->space_order += e.what == RING_SPACE_ALLOC;
    e.order = r->space_order;
    memory_fit(p->spaces.pending, p->spaces.pending_room, p->spaces.pending_count + 1);
    p->spaces.pending[p->spaces.pending_count++] = e;
    return true;
}

/* ---- into the trace ---- */

static void end_block(struct absorb *a, struct absorb_process *p, struct space_block *b,
                      const struct space_event *e)
{
    uint64_t between = e->what == RING_SPACE_FREE && e->thread == b->thread ? e->order - b->order
                                                                            : TRACE_LATER_MANY;
    struct trace_space_free fields = {e->thread, b->number, b->space,
                                      between < TRACE_LATER_MANY ? between : TRACE_LATER_MANY};

    put_record(a, TRACE_SPACE_FREE, e->time_ns, &fields, 4);
    space_blocks_remove(&p->spaces, b);
}

/* Once for each space of a process. What a device and the host share the host touches unseen. */
static void announce(struct absorb *a, struct absorb_process *p, const struct space_event *e)
{
    struct trace_access fields = {e->thread, 0, 0, TRACE_ACCESS_ALL, 0, e->space};
    uint64_t vendor = (uint64_t)1 << (e->class >> RING_SPACE_CLASS_BITS & 63);
    uint64_t space = e->space < 64 ? (uint64_t)1 << e->space : 0;

    if (!(p->spaces.all & vendor) || !space || p->spaces.announced & space ||
        e->kind != TRACE_SPACE_DEVICE)
        return;
    p->spaces.announced |= space;
    put_record(a, TRACE_ACCESS, e->time_ns, &fields, 6);
}

static void begin_block(struct absorb *a, struct absorb_process *p, const struct space_event *e)
{
    struct space_block *before = space_blocks_find(&p->spaces, e->class, e->handle);
    struct space_block b = {.handle = e->handle,
                            .owner = e->owner,
                            .number = ++a->spaces.blocks,
                            .born_ns = e->time_ns,
                            .space = e->space,
                            .thread = e->thread,
                            .order = e->order,
                            .class = e->class};
    struct trace_space_alloc fields = {e->thread, b.number, e->bytes,   e->stack,
                                       e->space,  e->call,  e->context, e->handle};

    if (before)
        end_block(a, p, before, e);
    announce(a, p, e);
    put_record(a, TRACE_SPACE_ALLOC, e->time_ns, &fields, 8);
    space_blocks_add(&p->spaces, &b);
}

/* The last who has it lets it die. */
static void drop_block(struct absorb *a, struct absorb_process *p, struct space_block *b,
                       const struct space_event *e)
{
    if (b->holds)
        b->holds--;
    else
        end_block(a, p, b, e);
}

static void free_block(struct absorb *a, struct absorb_process *p, const struct space_event *e)
{
    struct space_block *b = space_blocks_find(&p->spaces, e->class, e->handle);

    if (b && b->born_ns <= e->time_ns)
        drop_block(a, p, b, e);
}

static void hold_block(struct absorb_process *p, const struct space_event *e)
{
    struct space_block *b = space_blocks_find(&p->spaces, e->class, e->handle);
    struct space_block mapping = {.handle = e->owner,
                                  .number = SPACE_BLOCK_MAPPING,
                                  .class = e->class | MAPPING_CLASS,
                                  .bytes = e->bytes,
                                  .mapped = e->handle};

    if (!b || (e->owner && space_blocks_find(&p->spaces, mapping.class, e->owner)))
        return;
    b->holds++;
    if (e->owner)
        space_blocks_add(&p->spaces, &mapping);
}

/* Mappings side by side may go by one call. */
static void let_go(struct absorb *a, struct absorb_process *p, const struct space_event *e)
{
    uint64_t at = e->handle, end = at + e->bytes;
    struct space_block *m, *b;

    while (at < end && (m = space_blocks_find(&p->spaces, e->class | MAPPING_CLASS, at))) {
        b = space_blocks_find(&p->spaces, e->class, m->mapped);
        at = m->bytes ? at + m->bytes : end;
        space_blocks_remove(&p->spaces, m);
        if (b)
            drop_block(a, p, b, e);
    }
}

static void end_owner(struct absorb *a, struct absorb_process *p, const struct space_event *e)
{
    uint32_t vendor = e->class >> RING_SPACE_CLASS_BITS;

    for (size_t i = 0; i < p->spaces.count; i++) {
        struct space_block *b = &p->spaces.blocks[i];

        if (b->number && b->number != SPACE_BLOCK_MAPPING && b->owner == e->owner &&
            b->class >> RING_SPACE_CLASS_BITS == vendor && b->born_ns <= e->time_ns)
            end_block(a, p, b, e);
    }
}

static void put_failed(struct absorb *a, const struct space_event *e)
{
    struct trace_space_failed fields = {e->thread, e->bytes, e->stack, e->space,
                                        e->call,   e->owner, e->handle};

    put_record(a, TRACE_SPACE_FAILED, e->time_ns, &fields, !e->space && e->handle > 1 ? 7 : 6);
}

static void put_launches(struct absorb *a, const struct space_event *e)
{
    struct trace_launches fields = {e->thread, e->stack, e->call, e->bytes,
                                    e->handle, e->read,  e->owner};

    put_record(a, TRACE_LAUNCHES, e->time_ns, &fields, e->known ? 7 : 4);
}

static void put_access(struct absorb *a, struct absorb_process *p, const struct space_event *e)
{
    const struct space_block *b = space_blocks_find(&p->spaces, e->class, e->handle);
    struct trace_access fields = {e->thread, e->handle, e->bytes, e->kind, e->call, 0};

    if (!e->handle)
        p->spaces.all |= (uint64_t)1 << (e->class >> RING_SPACE_CLASS_BITS & 63);
    if (!b || b->born_ns > e->time_ns)
        return;
    fields.space = b->space;
    put_record(a, TRACE_ACCESS, e->time_ns, &fields, 6);
}

static void take(struct absorb *a, struct absorb_process *p, const struct space_event *e)
{
    switch (e->what) {
    case RING_SPACE_ALLOC:
        begin_block(a, p, e);
        break;
    case RING_SPACE_FREE:
        free_block(a, p, e);
        break;
    case RING_SPACE_FAILED:
        put_failed(a, e);
        break;
    case RING_SPACE_GONE:
        end_owner(a, p, e);
        break;
    case RING_SPACE_HOLD:
        hold_block(p, e);
        break;
    case RING_SPACE_LET_GO:
        let_go(a, p, e);
        break;
    case RING_SPACE_ACCESS:
        put_access(a, p, e);
        break;
    default:
        put_launches(a, e);
    }
}

/* By time; of one time as they were read, which is their order in memory. */
static int compare(const void *a, const void *b)
{
    const struct space_event *const *x = a, *const *y = b;

    if ((*x)->time_ns != (*y)->time_ns)
        return (*x)->time_ns < (*y)->time_ns ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

void spaces_settle(struct absorb *a, struct absorb_process *p)
{
    size_t count = p->spaces.pending_count;
    const struct space_event **order;

    if (!count)
        return;
    order = memory_resize(NULL, count * sizeof(struct space_event *));
    for (size_t i = 0; i < count; i++)
        order[i] = &p->spaces.pending[i];
    memory_sort(order, count, sizeof(struct space_event *), compare);
    for (size_t i = 0; i < count; i++)
        take(a, p, order[i]);
    free(order);
    p->spaces.pending_count = 0;
}
