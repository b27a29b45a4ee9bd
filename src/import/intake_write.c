/* intake_write - see intake.h: what was told, in the order of its times, as the records of an exact
 * recording.
 */
#include "import/intake.h"

#include "base/clock.h"
#include "trace/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INFOS_EACH 4096u /* of one record */

struct writing {
    struct intake *in;
    uint64_t first_ns;
    struct batch batch;
    unsigned char tail[BATCH_TAIL_MOST];
    uint32_t process; /* whose the batch is; 0: it is empty */
    uint32_t *allocs; /* events that are allocations */
    size_t alloc_count, alloc_room;
};

#define PUT(in, kind, time_ns, ...)                                                                \
    trace_store_put((in)->store, kind, time_ns, (const uint64_t[]){__VA_ARGS__},                   \
                    sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), NULL, 0)

static struct intake_thread *thread_of(const struct intake *in, const struct intake_event *e)
{
    return &in->threads[e->thread - 1];
}

/* ---- order ---- */

static int by_time(const void *left, const void *right)
{
    const struct intake_event *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int by_info(const void *left, const void *right, const void *context)
{
    const struct intake *in = context;
    const struct intake_event *a = &in->events[*(const uint32_t *)left];
    const struct intake_event *b = &in->events[*(const uint32_t *)right];
    uint32_t of_a = thread_of(in, a)->process, of_b = thread_of(in, b)->process;

    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* ---- infos: one size from one stack of a process ---- */

static size_t put_infos(struct writing *w, size_t from)
{
    const struct intake *in = w->in;
    const struct intake_event *e = &in->events[w->allocs[from]], *last = NULL;
    uint32_t process = thread_of(in, e)->process, first = e->info, count = 0;
    uint64_t fields[3] = {process, first, 0};
    size_t used = 0, i = from;

    for (; i < w->alloc_count; i++) {
        e = &in->events[w->allocs[i]];
        if (last && e->info == last->info && thread_of(in, e)->process == process)
            continue;
        if (thread_of(in, e)->process != process || count == INFOS_EACH)
            break;
        used += batch_put_info(w->tail + used, e->bytes, e->stack, TRACE_BY_POOL,
                               last ? last->stack : 0);
        count++;
        last = e;
    }
    fields[2] = count;
    trace_store_put(in->store, TRACE_INFOS, 0, fields, 3, w->tail, used);
    return i;
}

_Static_assert(INFOS_EACH *BATCH_INFO_MOST <= BATCH_TAIL_MOST, "a record of infos is too long");

static void number_infos(struct writing *w)
{
    struct intake *in = w->in;
    uint32_t info = 0;

    for (size_t i = 0; i < in->count; i++)
        if (in->events[i].kind == INTAKE_ALLOC) {
            memory_fit(w->allocs, w->alloc_room, w->alloc_count + 1);
            w->allocs[w->alloc_count++] = (uint32_t)i;
        }
    memory_sort_with(w->allocs, w->alloc_count, sizeof(*w->allocs), by_info, in);
    for (size_t i = 0; i < w->alloc_count; i++) {
        struct intake_event *e = &in->events[w->allocs[i]];
        const struct intake_event *before = i ? &in->events[w->allocs[i - 1]] : NULL;

        if (!before || thread_of(in, before)->process != thread_of(in, e)->process)
            info = 1;
        else if (before->stack != e->stack || before->bytes != e->bytes)
            info++;
        e->info = info;
    }
    for (size_t i = 0; i < w->alloc_count;)
        i = put_infos(w, i);
}

/* ---- blocks ---- */

static void flush(struct writing *w)
{
    uint64_t last_ns = w->batch.last_ns, span = last_ns - w->batch.start_ns;
    size_t size;

    if (!w->process)
        return;
    size = batch_close(&w->batch, w->tail);
    trace_store_put(w->in->store, TRACE_BATCH, last_ns,
                    (const uint64_t[]){w->process, w->batch.events, span}, 3, w->tail, size);
    w->process = 0;
}

/* The batch that an event belongs in, moved to its time. */
static struct batch *batch_for(struct writing *w, const struct intake_event *e)
{
    uint64_t time_ns = e->time_ns - w->first_ns;
    uint32_t process = thread_of(w->in, e)->process;

    if (w->process && (w->process != process || batch_full(&w->batch) ||
                       time_ns - w->batch.start_ns >= CLOCK_SECOND_NS))
        flush(w);
    if (!w->process)
        batch_reset(&w->batch, time_ns);
    w->process = process;
    batch_at(&w->batch, e->thread, time_ns);
    return &w->batch;
}

static void end_block(struct writing *w, const struct intake_event *e)
{
    struct intake *in = w->in;
    struct intake_thread *t = thread_of(in, e);
    struct intmap *blocks = &in->processes[t->process - 1].blocks;
    struct batch *b = batch_for(w, e);
    uint64_t place = 0;
    const struct intake_event *born;

    if (!intmap_get(blocks, e->key, &place) || !place) {
        in->frees_unknown++;
        batch_free(b, 0, batch_fate(false, 0, 0));
        return;
    }
    born = &in->events[place - 1];
    intmap_put(blocks, e->key, 0);
    batch_free(b, born->info,
               batch_fate(born->thread == e->thread,
                          t->allocs - born->order < 15 ? (uint32_t)(t->allocs - born->order) : 15,
                          e->time_ns - born->time_ns));
}

static void begin_block(struct writing *w, struct intake_event *e)
{
    struct intake *in = w->in;
    struct intake_thread *t = thread_of(in, e);
    struct intmap *blocks = &in->processes[t->process - 1].blocks;
    uint64_t place;

    if (intmap_get(blocks, e->key, &place) && place) {
        in->alive_twice++;
        end_block(w, e);
    }
    batch_alloc(batch_for(w, e), e->info);
    e->order = ++t->allocs; /* its place in the order is taken: how many its thread had made */
    intmap_put(blocks, e->key, (uint64_t)(e - in->events) + 1);
}

/* ---- what is beside them ---- */

static void put_reserved(struct writing *w, const struct intake_event *e)
{
    uint32_t number = thread_of(w->in, e)->process;
    const struct intake_process *p = &w->in->processes[number - 1];
    const struct trace_pair used = {METRIC_DEVICE_USED, p->reserved};

    if (p->device)
        trace_store_put(w->in->store, TRACE_SAMPLE, e->time_ns - w->first_ns,
                        (const uint64_t[]){TRACE_OF_DEVICE_USE, p->device << 32 | number}, 2, &used,
                        1);
}

static void put_segment(struct writing *w, const struct intake_event *e)
{
    struct intake_process *p = &w->in->processes[thread_of(w->in, e)->process - 1];

    PUT(w->in, TRACE_MMAP, e->time_ns - w->first_ns, e->thread, e->key, e->bytes, e->stack, 3,
        TRACE_MMAP_ARENA);
    p->reserved += e->bytes;
    put_reserved(w, e);
}

static void put_segment_end(struct writing *w, const struct intake_event *e)
{
    struct intake_process *p = &w->in->processes[thread_of(w->in, e)->process - 1];

    PUT(w->in, TRACE_MUNMAP, e->time_ns - w->first_ns, e->thread, e->key, e->bytes);
    p->reserved -= e->bytes < p->reserved ? e->bytes : p->reserved;
    put_reserved(w, e);
}

static void put_region(struct writing *w, const struct intake_event *e)
{
    struct intake_thread *t = thread_of(w->in, e);
    uint64_t number = ++w->in->regions;
    uint64_t parent = t->open_count ? t->open[t->open_count - 1].number : 0;

    PUT(w->in, TRACE_REGION, e->time_ns - w->first_ns, e->thread, number, e->key, parent);
    memory_fit(t->open, t->open_room, t->open_count + 1);
    t->open[t->open_count++] = (struct intake_region){number, e->key};
}

/* It and all that was begun in it since; an end without a beginning is nothing. */
static void put_region_end(struct writing *w, const struct intake_event *e)
{
    struct intake_thread *t = thread_of(w->in, e);
    size_t at = t->open_count;

    while (at && t->open[at - 1].name != e->key)
        at--;
    for (; at && t->open_count >= at; t->open_count--)
        PUT(w->in, TRACE_REGION_END, e->time_ns - w->first_ns, e->thread,
            t->open[t->open_count - 1].number);
}

static void put(struct writing *w, struct intake_event *e)
{
    switch (e->kind) {
    case INTAKE_ALLOC:
        begin_block(w, e);
        break;
    case INTAKE_FREE:
        end_block(w, e);
        break;
    case INTAKE_SEGMENT:
        put_segment(w, e);
        break;
    case INTAKE_SEGMENT_END:
        put_segment_end(w, e);
        break;
    case INTAKE_REGION:
        put_region(w, e);
        break;
    case INTAKE_REGION_END:
        put_region_end(w, e);
        break;
    case INTAKE_MARK:
        PUT(w->in, TRACE_MARK, e->time_ns - w->first_ns, e->thread, TRACE_MARK_MOMENT, e->key);
        break;
    case INTAKE_STEP:
        PUT(w->in, TRACE_MARK, e->time_ns - w->first_ns, e->thread, TRACE_MARK_STEP, e->key, 0,
            e->bytes);
        break;
    case INTAKE_FAILED:
        PUT(w->in, TRACE_SPACE_FAILED, e->time_ns - w->first_ns, e->thread, e->bytes, e->stack, 0,
            e->key, 0, 1);
        break;
    }
}

/* ---- the whole ---- */

static void put_fact(struct intake *in, uint64_t process, const char *key, const char *text)
{
    trace_store_fact(in->store, process ? TRACE_OF_PROCESS : TRACE_OF_RUN, process, key, text,
                     strlen(text));
}

static void put_who(struct intake *in)
{
    char device[24];

    for (size_t i = 0; i < in->known_processes.count; i++) {
        const struct intake_process *p = &in->processes[i];

        PUT(in, TRACE_PROCESS, 0, i + 1, 0, p->pid, 0, TRACE_BORN_FOUND, p->name, p->name);
        if (p->device) {
            snprintf(device, sizeof(device), "%" PRIu64, p->device - 1);
            put_fact(in, i + 1, FACT_DEVICE, device);
        }
        if (!p->pid)
            put_fact(in, i + 1, FACT_PID, "the imported file does not say");
    }
    for (size_t i = 0; i < in->known_threads.count; i++)
        PUT(in, TRACE_THREAD, 0, i + 1, in->threads[i].process, in->threads[i].tid,
            in->threads[i].name);
}

static void put_run(struct intake *in)
{
    struct arena scratch = {0};

    put_fact(in, 0, FACT_RECORDED, "exact");
    put_fact(in, 0, FACT_IMPORTED, in->tool);
    put_fact(in, 0, FACT_COMMAND, arena_printf(&scratch, "(imported) %s", in->file));
    arena_free(&scratch);
}

int intake_write(struct intake *in, struct err *err)
{
    struct writing *w;
    uint64_t last_ns;

    if (!in->count)
        return err_set(err, "'%s' contains no allocations: there is nothing to import", in->file);
    w = memory_zeroed(sizeof(*w));
    w->in = in;
    memory_sort(in->events, in->count, sizeof(*in->events), by_time);
    w->first_ns = in->events[0].time_ns;
    last_ns = in->events[in->count - 1].time_ns - w->first_ns;
    if (in->since_1970)
        trace_store_began(in->store, w->first_ns);
    put_run(in);
    put_who(in);
    number_infos(w);
    for (size_t i = 0; i < in->count; i++)
        put(w, &in->events[i]);
    flush(w);
    for (size_t i = 0; i < in->pool_count; i++)
        trace_store_put(in->store, TRACE_POOL, last_ns, (const uint64_t *)&in->pools[i], 7, NULL,
                        0);
    for (size_t i = 0; i < in->known_processes.count; i++)
        PUT(in, TRACE_PROCESS_END, last_ns, i + 1, TRACE_END_OUTLIVED, 0);
    free(w->allocs);
    free(w);
    return 0;
}
