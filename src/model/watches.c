/* watches - see watches.h. */
#include "model/watches.h"

#include "base/memory.h"

#include <stdlib.h>

#define REGIONS_MOST 4096
#define WRITES_MOST 256 /* that are told between two looks; older ones are forgotten */

struct watch_region {
    uint64_t thread, region, name;
};

struct watch_process {
    uint64_t number;
    bool all; /* it tells all accesses */
    enum watch_since since;
    uint64_t since_name, said;
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

/* Of the writes since the program has said something: accesses are told after they were made. */
static void settle(struct watches *w, const struct watch_process *p, uint64_t from, uint64_t to,
                   enum watch_declared declared)
{
    for (size_t i = w->write_count; i-- > 0;) {
        struct watch_write *r = &w->writes[i];
        const struct watch_block *b = &w->blocks[r->block];

        if (b->process != p->number)
            continue;
        if (r->said != p->said)
            break;
        if (r->declared == WATCH_UNKNOWN && from < b->address + b->bytes && b->address < to)
            r->declared = declared;
    }
}

static void say(struct watches *w, uint64_t thread, enum watch_since since, uint64_t name)
{
    struct watch_process *p = process_of(w, thread);

    if (!p)
        return;
    if (p->all)
        settle(w, p, 0, UINT64_MAX, WATCH_UNDECLARED);
    p->since = since;
    p->since_name = name;
    p->said++;
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
    settle(w, p, a->address, a->address + a->bytes, WATCH_DECLARED);
    p->writes[p->write_count % WRITES_MOST].start = a->address;
    p->writes[p->write_count++ % WRITES_MOST].end = a->address + a->bytes;
}

/* ---- what is watched ---- */

static bool is_open(const struct watch_block *b, uint64_t process)
{
    return b->process == process && b->to_ns == UINT64_MAX;
}

static struct watch_block *block_of(struct watches *w, uint64_t process, uint64_t address)
{
    for (size_t i = w->block_count; i-- > 0;)
        if (is_open(&w->blocks[i], process) && w->blocks[i].address == address)
            return &w->blocks[i];
    return NULL;
}

/* The one that holds the byte: of two, that which was watched last. */
static struct watch_block *block_around(struct watches *w, uint64_t process, uint64_t address)
{
    for (size_t i = w->block_count; i-- > 0;)
        if (is_open(&w->blocks[i], process) && w->blocks[i].why != TRACE_WATCH_DEVICE &&
            address - w->blocks[i].address < w->blocks[i].bytes)
            return &w->blocks[i];
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
    if (w->change_count == WATCHES_MOST) {
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

/* ---- commands of devices ---- */

static enum watch_declared declared_by(uint64_t flags)
{
    return flags & TRACE_COMMAND_DECLARED   ? WATCH_DECLARED
         : flags & TRACE_COMMAND_UNDECLARED ? WATCH_UNDECLARED
                                            : WATCH_UNKNOWN;
}

static void take_command(struct watches *w, const struct watch_process *p, struct watch_block *b,
                         const struct trace_event *ev)
{
    uint64_t flags = ev->watch.bytes & 15;

    if (w->look_count == WATCHES_MOST) {
        w->left_out++;
        return;
    }
    b->commands += !(flags & TRACE_COMMAND_BEFORE);
    memory_fit(w->looks, w->look_room, w->look_count + 1);
    w->looks[w->look_count++] = (struct watch_look){.change = {.block = (size_t)(b - w->blocks),
                                                               .time_ns = ev->time_ns,
                                                               .thread = ev->watch.thread,
                                                               .stack = ev->watch.stack,
                                                               .by = ev->watch.name,
                                                               .since = p->since,
                                                               .since_name = p->since_name,
                                                               .declared = declared_by(flags),
                                                               .command = true},
                                                    .process = p->number,
                                                    .number = ev->watch.bytes >> 4,
                                                    .flags = flags};
}

static void take_result(struct watches *w, const struct watch_process *p,
                        const struct trace_event *ev)
{
    uint64_t value = ev->watch.bytes;

    if (value >> 32 & 1 || w->hash_count == WATCHES_MOST)
        return; /* it counts as none */
    memory_fit(w->hashes, w->hash_room, w->hash_count + 1);
    w->hashes[w->hash_count++] = (struct watch_hash){p->number, value >> 33, value & UINT32_MAX,
                                                     ev->time_ns};
}

/* ---- writes ---- */

static void take_write(struct watches *w, const struct watch_process *p,
                       const struct trace_event *ev)
{
    struct watch_block *b = block_around(w, p->number, ev->watch.address);
    uint64_t offset, length;

    if (!b)
        return;
    offset = ev->watch.address - b->address;
    length = ev->watch.bytes ? ev->watch.bytes : 1;
    length = length < b->bytes - offset ? length : b->bytes - offset;
    watches_put(w, b,
                &(struct watch_write){
                    .block = (size_t)(b - w->blocks),
                    .time_ns = ev->time_ns,
                    .thread = ev->watch.thread,
                    .stack = ev->watch.stack,
                    .from = offset,
                    .to = offset + length,
                    .times = 1,
                    .last = offset,
                    .until_ns = ev->time_ns,
                    .call = ev->watch.name,
                    .by = region_of(w, ev->watch.thread),
                    .since = p->since,
                    .since_name = p->since_name,
                    .said = p->said,
                    .declared = declared(p, b) == WATCH_DECLARED ? WATCH_DECLARED : WATCH_UNKNOWN});
}

/* ---- all of it ---- */

static void add_block(struct watches *w, uint64_t process, const struct trace_event *ev)
{
    bool began = ev->watch.watch_kind == TRACE_WATCH_BEGAN;

    if (w->block_count == WATCHES_MOST)
        return;
    memory_fit(w->blocks, w->block_room, w->block_count + 1);
    w->blocks[w->block_count++] = (struct watch_block){.process = process,
                                                       .address = ev->watch.address,
                                                       .bytes = ev->watch.bytes,
                                                       .name = ev->watch.name,
                                                       .from_ns = ev->time_ns,
                                                       .to_ns = began ? UINT64_MAX : ev->time_ns,
                                                       .ended = began ? 0 : ev->watch.watch_kind};
}

/* Whether it was freed before is known where all blocks are, and not of a stack: libc maps those
 * unseen. What is freed again later was somebody's meanwhile.
 */
static void say_dead(struct watch_block *b)
{
    b->dead = b->why != TRACE_WATCH_STACK;
}

static void lose(struct watches *w, const struct trace_loss *loss)
{
    if (loss->what == TRACE_LOST_TORN || loss->what == TRACE_LOST_TICKS ||
        loss->what == TRACE_LOST_CONTEXTS)
        return;
    for (size_t i = 0; i < w->block_count; i++)
        if (w->blocks[i].process == loss->process || !loss->process)
            w->blocks[i].dead = false;
}

static bool is_end(uint64_t kind)
{
    return kind == TRACE_WATCH_ENDED || kind == TRACE_WATCH_GONE || kind == TRACE_WATCH_FREED;
}

static void take_of_block(struct watches *w, const struct watch_process *p, struct watch_block *b,
                          const struct trace_event *ev)
{
    uint64_t kind = ev->watch.watch_kind;

    if (kind == TRACE_WATCH_CHANGED)
        add_change(w, p, b, ev);
    else if (kind == TRACE_WATCH_LOOKED)
        b->why = ev->watch.bytes;
    else if (kind == TRACE_WATCH_COMMAND)
        take_command(w, p, b, ev);
    else if (kind == TRACE_WATCH_DEAD)
        say_dead(b);
    else if (kind == TRACE_WATCH_UNTOLD)
        b->untold += ev->watch.bytes < UINT64_MAX - b->untold ? ev->watch.bytes : 0;
    else if (kind == TRACE_WATCH_BEGAN || is_end(kind)) {
        b->to_ns = ev->time_ns;
        b->ended = kind == TRACE_WATCH_BEGAN ? TRACE_WATCH_ENDED : kind;
        b->dead = b->dead && kind != TRACE_WATCH_FREED;
    }
}

static void take_watch(struct watches *w, const struct trace_event *ev)
{
    const struct watch_process *p = process_of(w, ev->watch.thread);
    uint64_t kind = ev->watch.watch_kind;
    struct watch_block *b;

    if (!p)
        return;
    if (kind == TRACE_WATCH_WRITTEN) {
        take_write(w, p, ev);
        return;
    }
    if (kind == TRACE_WATCH_RESULT) {
        take_result(w, p, ev);
        return;
    }
    b = block_of(w, p->number, ev->watch.address);
    if (b)
        take_of_block(w, p, b, ev);
    if (kind == TRACE_WATCH_BEGAN || kind == TRACE_WATCH_NO_ROOM || kind == TRACE_WATCH_UNKNOWN ||
        kind == TRACE_WATCH_NO_SLOT || (!b && kind == TRACE_WATCH_GONE))
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
        if (ev->mark.mark_kind != TRACE_MARK_WHOLE) /* which the recorder tells */
            say(w, ev->mark.thread, WATCH_SINCE_MARK, ev->mark.name);
        break;
    case TRACE_ACCESS:
        take_access(w, &ev->access);
        break;
    case TRACE_WATCH:
        take_watch(w, ev);
        break;
    case TRACE_LOSS:
        lose(w, &ev->loss);
        break;
    default:
        break;
    }
}

void watches_free(struct watches *w)
{
    free(w->blocks);
    free(w->changes);
    free(w->writes);
    free(w->looks);
    free(w->hashes);
    free(w->processes);
    free(w->regions);
    intmap_free(&w->places);
    *w = (struct watches){0};
}
