/* watches - see watches.h. */
#include "model/watches.h"

#include "base/memory.h"

#include <stdlib.h>

#define CHANGES_MOST ((size_t)1 << 20)
#define REGIONS_MOST 4096
#define WRITES_MOST 256 /* that are told between two looks; older ones are forgotten */

struct watch_region {
    uint64_t thread, region, name;
};

struct watch_process {
    uint64_t number;
    bool all; /* it tells all accesses */
    enum watch_since since;
    uint64_t since_name;
    struct {
        uint64_t start, end;
    } writes[WRITES_MOST]; /* since the look before */
    size_t write_count;
};

static struct watch_process *process_of(struct watches *w, uint64_t thread)
{
    const struct threads_thread *t = threads_find(w->threads, thread);
    uint64_t place;

    if (!t)
        return NULL;
    if (!intmap_get(&w->places, t->process, &place)) {
        memory_fit(w->processes, w->process_room, w->process_count + 1);
        w->processes[w->process_count] = (struct watch_process){.number = t->process};
        intmap_put(&w->places, t->process, place = ++w->process_count);
    }
    memory_is_there(w->processes);
    return &w->processes[place - 1];
}

/* ---- what the program says ---- */

static void say(struct watches *w, uint64_t thread, enum watch_since since, uint64_t name)
{
    struct watch_process *p = process_of(w, thread);

    if (!p)
        return;
    p->since = since;
    p->since_name = name;
    p->write_count = 0;
}

static void begin_region(struct watches *w, const struct trace_region *r)
{
    say(w, r->thread, WATCH_SINCE_BEGIN, r->name);
    if (w->region_count == REGIONS_MOST)
        return;
    memory_fit(w->regions, w->region_room, w->region_count + 1);
    w->regions[w->region_count++] = (struct watch_region){r->thread, r->region, r->name};
}

static void end_region(struct watches *w, const struct trace_region_end *r)
{
    size_t i = w->region_count;

    while (i && w->regions[i - 1].region != r->region)
        i--;
    say(w, r->thread, WATCH_SINCE_END, i ? w->regions[i - 1].name : 0);
    if (!i)
        return;
    for (; i < w->region_count; i++)
        w->regions[i - 1] = w->regions[i];
    w->region_count--;
}

static uint64_t region_of(const struct watches *w, uint64_t thread)
{
    for (size_t i = w->region_count; i-- > 0;)
        if (w->regions[i].thread == thread)
            return w->regions[i].name;
    return 0;
}

static void take_access(struct watches *w, const struct trace_access *a)
{
    struct watch_process *p = process_of(w, a->thread);

    if (!p)
        return;
    if (a->access_kind & (TRACE_ACCESS_ALL | TRACE_ACCESS_SOME))
        p->all = a->access_kind & TRACE_ACCESS_ALL;
    if (!(a->access_kind & TRACE_ACCESS_WRITE))
        return;
    p->writes[p->write_count % WRITES_MOST].start = a->address;
    p->writes[p->write_count++ % WRITES_MOST].end = a->address + a->bytes;
}

/* ---- what is watched ---- */

static struct watch_block *block_of(struct watches *w, uint64_t process, uint64_t address)
{
    for (size_t i = w->block_count; i-- > 0;)
        if (w->blocks[i].process == process && w->blocks[i].address == address)
            return w->blocks[i].to_ns == UINT64_MAX ? &w->blocks[i] : NULL;
    return NULL;
}

static enum watch_declared declared(const struct watch_process *p, const struct watch_block *b)
{
    size_t count = p->write_count < WRITES_MOST ? p->write_count : WRITES_MOST;

    for (size_t i = 0; i < count; i++)
        if (p->writes[i].start < b->address + b->bytes && b->address < p->writes[i].end)
            return WATCH_DECLARED;
    return p->all && p->write_count <= WRITES_MOST ? WATCH_UNDECLARED : WATCH_UNKNOWN;
}

static void add_change(struct watches *w, const struct watch_process *p, struct watch_block *b,
                       const struct trace_event *ev)
{
    if (w->change_count == CHANGES_MOST) {
        w->left_out++;
        return;
    }
    if (!b->changes++)
        b->first = w->change_count;
    memory_fit(w->changes, w->change_room, w->change_count + 1);
    w->changes[w->change_count++] = (struct watch_change){.block = (size_t)(b - w->blocks),
                                                          .time_ns = ev->time_ns,
                                                          .thread = ev->watch.thread,
                                                          .stack = ev->watch.stack,
                                                          .by = region_of(w, ev->watch.thread),
                                                          .since = p->since,
                                                          .since_name = p->since_name,
                                                          .declared = declared(p, b)};
}

static void add_block(struct watches *w, uint64_t process, const struct trace_event *ev)
{
    bool began = ev->watch.watch_kind == TRACE_WATCH_BEGAN;

    if (w->block_count == CHANGES_MOST)
        return;
    memory_fit(w->blocks, w->block_room, w->block_count + 1);
    w->blocks[w->block_count++] = (struct watch_block){.process = process,
                                                       .address = ev->watch.address,
                                                       .bytes = ev->watch.bytes,
                                                       .name = ev->watch.name,
                                                       .from_ns = ev->time_ns,
                                                       .to_ns = began ? UINT64_MAX : ev->time_ns,
                                                       .gone = !began};
}

static void take_watch(struct watches *w, const struct trace_event *ev)
{
    const struct watch_process *p = process_of(w, ev->watch.thread);
    struct watch_block *b = p ? block_of(w, p->number, ev->watch.address) : NULL;
    uint64_t kind = ev->watch.watch_kind;

    if (!p)
        return;
    if (b && kind == TRACE_WATCH_CHANGED) {
        add_change(w, p, b, ev);
    } else if (b) { /* it ends, or begins anew */
        b->to_ns = ev->time_ns;
        b->gone = kind == TRACE_WATCH_GONE;
    }
    if (kind == TRACE_WATCH_BEGAN || (!b && kind == TRACE_WATCH_GONE))
        add_block(w, p->number, ev);
}

void watches_take(void *watches, const struct trace_event *ev)
{
    struct watches *w = watches;

    switch (ev->kind) {
    case TRACE_REGION:
        begin_region(w, &ev->region);
        break;
    case TRACE_REGION_END:
        end_region(w, &ev->region_end);
        break;
    case TRACE_MARK:
        say(w, ev->mark.thread, WATCH_SINCE_MARK, ev->mark.name);
        break;
    case TRACE_ACCESS:
        take_access(w, &ev->access);
        break;
    case TRACE_WATCH:
        take_watch(w, ev);
        break;
    default:
        break;
    }
}

void watches_free(struct watches *w)
{
    free(w->blocks);
    free(w->changes);
    free(w->processes);
    free(w->regions);
    intmap_free(&w->places);
    *w = (struct watches){0};
}
