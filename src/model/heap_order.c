/* heap_order - see heap_order.h. */
#include "model/heap_order.h"

#include "base/memory.h"
#include "model/allowed.h"
#include "model/heap_pass.h"
#include "model/heap_source.h"
#include "model/mapping_read.h"

#include <stdlib.h>

/* ENDED: it dies when anything of another follows; OVER: what it became by exec(2) has begun */
enum ended { RUNS, ENDED, DEAD, OVER };

#define TAIL 500           /* the end of the recording: this part of its time, */
#define TAIL_NS 100000000u /* or this much, in which processes end one after the other */
#define WAITING_MOST ((size_t)64 << 20) /* bytes; above, what is earliest waits no longer */

/* ---- what is handed out ---- */

static void hand_out(struct heap_order *o, struct heap_order_event *e)
{
    o->now_ns = e->time_ns > o->now_ns ? e->time_ns : o->now_ns;
    e->time_ns = o->now_ns;
    if (e->kind == HEAP_ORDER_RUN || e->kind == HEAP_ORDER_COURSE)
        o->ordinal += e->count;
    else
        o->ordinal += e->kind != HEAP_ORDER_NOTED;
    e->ordinal = o->ordinal;
    o->take(o->context, e);
}

/* It ends when anything of another follows. */
static void is_to_end(struct heap_order *o, uint32_t place)
{
    o->ended[place] = ENDED;
    o->ended_count++;
    memory_fit(o->ending, o->ending_room, o->ending_count + 1);
    o->ending[o->ending_count++] = place;
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return a < b ? -1 : a > b;
}

static void hand_end(struct heap_order *o, uint32_t place, uint64_t time_ns)
{
    struct heap_order_event e = {.kind = HEAP_ORDER_ENDED,
                                 .time_ns = time_ns,
                                 .place = place,
                                 .process = o->heap->processes[place - 1]};

    o->ended_count -= o->ended[place] == ENDED;
    o->ended[place] = DEAD;
    o->any_dead = true;
    hand_out(o, &e);
    heap_live_forget(&o->live, place);
}

static void end_former(struct heap_order *o, uint32_t place, uint64_t time_ns)
{
    const struct heap_process *former = heap_former(o->heap, o->heap->processes[place - 1]);
    uint32_t its = former ? heap_place_of(o->heap, former) : 0;

    if (!former)
        return;
    memory_fit_zeroed(o->ended, o->ended_room, (size_t)its + 1);
    if (o->ended[its] != DEAD && o->ended[its] != OVER)
        hand_end(o, its, time_ns);
    o->ended[its] = OVER;
}

/* Something happens in a process: others have ended before it, and it has not. */
static void end_others(struct heap_order *o, uint32_t place, uint64_t time_ns)
{
    bool own;

    if (!o->ended_count && !o->any_dead)
        return;
    if (place < o->ended_room && o->ended[place] == DEAD) /* so it ends after this */
        is_to_end(o, place);
    own = place < o->ended_room && o->ended[place] == ENDED;
    if (o->ended_count == own)
        return;
    memory_sort(o->ending, o->ending_count, sizeof(*o->ending), by_number);
    for (size_t i = 0; i < o->ending_count; i++)
        if (o->ending[i] != place && o->ended[o->ending[i]] == ENDED)
            hand_end(o, o->ending[i], time_ns);
    o->ending_count = 0;
    if (own)
        o->ending[o->ending_count++] = place;
}

/* Something happens in a process; false: it cannot, as that is another one now. */
static bool goes_on(struct heap_order *o, uint32_t place, uint64_t time_ns)
{
    if (place < o->ended_room && o->ended[place] == OVER)
        return false;
    end_former(o, place, time_ns);
    end_others(o, place, time_ns);
    return true;
}

/* Of one that ends with the recording it is to be seen what it had: it dies if anything follows. */
static void hand_ended(struct heap_order *o, struct heap_order_event *e)
{
    uint64_t tail_ns = o->last_ns / TAIL > TAIL_NS ? o->last_ns / TAIL : TAIL_NS;

    memory_fit_zeroed(o->ended, o->ended_room, (size_t)e->place + 1);
    if (o->ended[e->place] == OVER)
        return;
    if (o->last_ns > tail_ns && e->time_ns < o->last_ns - tail_ns) {
        hand_end(o, e->place, e->time_ns);
        return;
    }
    if (o->ended[e->place] != ENDED)
        is_to_end(o, e->place);
}

/* The next events of a batch: they are of one thread and time. */
static void hand_run(struct heap_order *o, struct heap_source *s)
{
    struct heap_order_event e = {.kind = HEAP_ORDER_RUN,
                                 .time_ns = s->reader.time_ns,
                                 .process = o->heap->processes[s->place - 1],
                                 .place = s->place,
                                 .thread = s->reader.thread,
                                 .items = s->portion,
                                 .count = s->count};

    s->at = s->count;
    if (goes_on(o, e.place, e.time_ns))
        hand_out(o, &e);
}

static void hand_course(struct heap_order *o, struct heap_source *s)
{
    const struct heap_course *c = &s->first->courses[s->at++];
    struct heap_order_event e = {.kind = HEAP_ORDER_COURSE,
                                 .time_ns = c->time_ns,
                                 .process = o->heap->processes[s->place - 1],
                                 .place = s->place,
                                 .count = c->events,
                                 .course = c,
                                 .record = &s->first->ev};

    if (goes_on(o, e.place, e.time_ns))
        hand_out(o, &e);
}

static void release(struct heap_order *o, struct heap_order_event e, struct heap_block *block)
{
    e.kind = HEAP_ORDER_RELEASED;
    e.block = block;
    hand_out(o, &e);
    heap_live_remove(&o->live, block);
}

/* A sampled block that takes the place of another has ended it. */
static void hand_sample(struct heap_order *o, const struct trace_event *ev)
{
    struct heap_order_event e = {.kind = HEAP_ORDER_SAMPLED,
                                 .time_ns = ev->time_ns,
                                 .process = heap_process_of_thread(o->heap, ev->alloc.thread),
                                 .thread = ev->alloc.thread,
                                 .record = ev};
    struct heap_block *block;

    if (!e.process)
        return;
    e.place = heap_place_of(o->heap, e.process);
    if (!goes_on(o, e.place, e.time_ns))
        return;
    block = heap_live_find(&o->live, e.place, ev->alloc.address);
    if (block)
        release(o, e, block);
    block = ev->kind == TRACE_ALLOC ? heap_live_add(&o->live, e.place, ev->alloc.address) : NULL;
    if (!block)
        return;
    block->amount = heap_weigh(ev);
    block->thread = ev->alloc.thread;
    block->born_ns = ev->time_ns;
    block->stack = ev->alloc.stack <= o->heap->frames->stack_count ? (uint32_t)ev->alloc.stack : 0;
    e.block = block;
    hand_out(o, &e);
}

/* What programs map themselves is a part of their heap: see heap_mapped.c. */
static void hand_mapping(struct heap_order *o, const struct heap_mapped_change *m, uint32_t place)
{
    struct heap_order_event e = {.kind = m->change.ended ? HEAP_ORDER_UNMAPPED : HEAP_ORDER_MAPPED,
                                 .time_ns = m->change.time_ns,
                                 .process = o->heap->processes[place - 1],
                                 .place = place,
                                 .thread = m->mapping.thread,
                                 .change = m};

    if (goes_on(o, place, e.time_ns))
        hand_out(o, &e);
}

static void hand_record(struct heap_order *o, const struct trace_event *ev)
{
    struct heap_order_event e = {.kind = HEAP_ORDER_NOTED, .time_ns = ev->time_ns, .record = ev};

    if (heap_source_rank(ev) == HEAP_RANK_EVENT) {
        hand_sample(o, ev);
        return;
    }
    if (ev->kind == TRACE_PROCESS_END) {
        e.kind = HEAP_ORDER_ENDED;
        e.process = heap_process_of(o->heap, ev->process_end.process);
        if (!e.process)
            return;
        e.place = heap_place_of(o->heap, e.process);
        if (e.place < o->of_room && o->of[e.place] && o->of[e.place]->first)
            o->of[e.place]->ends = true;
        else
            hand_ended(o, &e);
        return;
    }
    hand_out(o, &e);
}

/* Ends of processes are told in any order, and early: each is a source of its own. A limit by what
 * is known at that moment would be another in each pass. */
static struct heap_source *source_of_end(void)
{
    struct heap_source *s = memory_zeroed(sizeof(*s));

    s->once = true;
    return s;
}

static void push(struct heap_order *o, struct heap_source *s, const struct trace_event *ev)
{
    const struct heap_courses *c = &o->heap->pass->courses;
    bool coursed = o->coursed && c->wanted && ev->kind == TRACE_BATCH;

    if (heap_source_push(&o->waiting, s, ev, coursed ? c : NULL))
        heap_queue_add(&o->queue, s);
}

/* A process was seen to end before the last that it did was told, and that has been told now. */
static void end_late(struct heap_order *o, struct heap_source *s)
{
    struct trace_event ev = {.kind = TRACE_PROCESS_END, .time_ns = s->turn.time_ns};

    s->ends = false;
    ev.process_end.process = o->heap->processes[s->place - 1]->number;
    push(o, source_of_end(), &ev);
}

/* All that the first source has up to a time and up to what the others have. */
static void hand_first(struct heap_order *o, uint64_t until_ns)
{
    struct heap_source *s = o->queue.list[0];
    const struct heap_source *other = heap_queue_second(&o->queue);
    struct heap_source *late; /* the first itself may be gone by then */
    bool more = true;

    while (more && s->turn.time_ns <= until_ns && (!other || heap_source_is_before(s, other))) {
        if (s->at < s->count) {
            if (s->first->courses)
                hand_course(o, s);
            else
                hand_run(o, s);
            if (s->at < s->count) {
                heap_source_time(s, heap_source_next_ns(s));
                continue;
            }
        } else if (s->first->ev.kind == TRACE_MMAP) {
            hand_mapping(o, (const struct heap_mapped_change *)s->first->tail, s->place);
            heap_source_drop(&o->waiting, s);
        } else if (s->first->ev.kind != TRACE_BATCH) {
            hand_record(o, &s->first->ev);
            heap_source_drop(&o->waiting, s);
        }
        more = heap_source_advance(&o->waiting, s);
    }
    if (more) {
        heap_queue_settle(&o->queue);
        return;
    }
    late = s->ends ? s : NULL;
    heap_queue_drop(&o->queue);
    if (late)
        end_late(o, late);
}

static void hand_until(struct heap_order *o, uint64_t until_ns)
{
    while (o->queue.count && o->queue.list[0]->turn.time_ns <= until_ns)
        hand_first(o, until_ns);
}

/* ---- records ---- */

static struct heap_source *source_of(struct heap_order *o, uint32_t place)
{
    memory_fit_zeroed(o->of, o->of_room, (size_t)place + 1);
    if (!o->of[place]) {
        o->of[place] = memory_zeroed(sizeof(**o->of));
        o->of[place]->place = place;
    }
    return o->of[place];
}

/* What a process did is in its own source, in the order of the trace; NULL: it is not wanted. */
static struct heap_source *source_of_record(struct heap_order *o, const struct trace_event *ev)
{
    const struct heap_process *p;

    switch (ev->kind) {
    case TRACE_BATCH:
    case TRACE_ALLOC:
    case TRACE_FREE:
        p = ev->kind == TRACE_BATCH ? heap_process_of(o->heap, ev->batch.process)
                                    : heap_process_of_thread(o->heap, ev->alloc.thread);
        return p ? source_of(o, heap_place_of(o->heap, p)) : NULL;
    case TRACE_PROCESS_END:
        return source_of_end();
    case TRACE_REGION:
    case TRACE_REGION_END:
    case TRACE_MARK:
        return source_of(o, 0);
    default:
        return NULL;
    }
}

/* It waits for its time, after what its process did before. */
static void keep_mapping(void *context, const struct mapping_change *c)
{
    struct heap_order *o = context;
    const struct heap_process *p = heap_process_of(o->heap, c->mapping->process);
    struct heap_mapped_change kept = {*c->mapping, *c};
    const struct trace_event ev = {.kind = TRACE_MMAP,
                                   .time_ns = c->time_ns,
                                   .tail = (const unsigned char *)&kept,
                                   .tail_bytes = sizeof(kept)};

    if (p && c->bytes)
        push(o, source_of(o, heap_place_of(o->heap, p)), &ev);
}

/* In the order of the trace, as the heap does: what that changes is known then. */
static void take_mapping(struct heap_order *o, const struct trace_event *ev)
{
    o->mappings.change = keep_mapping;
    o->mappings.context = o;
    mapping_read(&o->mappings, o->heap->threads, ev);
}

void heap_order_record(void *order, const struct trace_event *ev)
{
    struct heap_order *o = order;
    struct heap_source *s = source_of_record(o, ev);

    o->live.most = ALLOWED_THINGS(o->heap->frames->names->file_bytes);
    take_mapping(o, ev);
    if (!s)
        return;
    push(o, s, ev);
    if (ev->time_ns > TRACE_BATCH_SPAN_MOST)
        hand_until(o, ev->time_ns - TRACE_BATCH_SPAN_MOST);
    while (o->queue.count && o->waiting.bytes > WAITING_MOST)
        hand_first(o, UINT64_MAX);
}

void heap_order_start(struct heap_order *o, struct heap *h, uint64_t last_ns, heap_order_take *take,
                      void *context)
{
    *o = (struct heap_order){.heap = h, .last_ns = last_ns, .take = take, .context = context};
}

void heap_order_flush(struct heap_order *o)
{
    hand_until(o, UINT64_MAX);
}

void heap_order_free(struct heap_order *o)
{
    for (size_t i = 0; i < o->queue.count; i++)
        if (o->queue.list[i]->once)
            free(o->queue.list[i]);
    for (size_t i = 0; i < o->of_room; i++)
        free(o->of[i]);
    free(o->of);
    free(o->ended);
    free(o->ending);
    free(o->queue.list);
    heap_live_free(&o->live);
    mappings_free(&o->mappings);
    *o = (struct heap_order){0};
}
