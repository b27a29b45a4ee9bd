/* What several processes held together, by the two who put their events in order: the runs of the
 * first pass (heap_together) and the events themselves (heap_order). Recordings are made by chance;
 * both find the same peak, at the same time, after the same events of each process.
 */
#include "check.h"

#include "model/heap_order.h"
#include "model/heap_pass.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
#define PROCESSES 5u
#define INFOS 6u
#define RECORDS 400

static uint32_t state;

static uint32_t chance(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static struct process { /* as the maker of the recording knows it */
    uint64_t now_ms;
    bool ended;
    uint32_t live[INFOS + 1];
} made[PROCESSES + 1];

static bool sampled; /* some of it is */
static struct arena arena;
static struct names names;
static struct frames frames;
static struct threads threads;
static struct heap heap;
static struct heap_order order;

/* ---- the replay of the order ---- */

static struct replay {
    uint64_t live[PROCESSES + 1], events[PROCESSES + 1], sum; /* by number of the process */
    uint64_t peak, peak_ns, at[PROCESSES + 1];
} replay;

static void change(const struct heap_order_event *e, uint64_t bytes, bool freed)
{
    uint64_t number = e->process->number, more = freed ? 0 - bytes : bytes;

    replay.live[number] += more;
    replay.sum += more;
    if (replay.sum <= replay.peak)
        return;
    replay.peak = replay.sum;
    replay.peak_ns = e->time_ns;
    memcpy(replay.at, replay.events, sizeof(replay.at));
}

static void take(void *context, const struct heap_order_event *e)
{
    uint64_t number = e->process ? e->process->number : 0;

    (void)context;
    if (e->kind == HEAP_ORDER_RUN)
        for (size_t i = 0; i < e->count; i++) {
            replay.events[number]++;
            change(e, e->process->state->infos[e->items[i].info].bytes,
                   e->items[i].op == BATCH_FREE);
        }
    else if (e->kind == HEAP_ORDER_SAMPLED || e->kind == HEAP_ORDER_RELEASED) {
        replay.events[number]++;
        change(e, e->block->amount.bytes, e->kind == HEAP_ORDER_RELEASED);
    } else if (e->kind == HEAP_ORDER_ENDED) {
        replay.sum -= replay.live[number];
        replay.live[number] = 0;
        replay.events[number] = 0;
    }
}

/* ---- a recording ---- */

static void give(const struct trace_event *ev)
{
    threads_take(&threads, ev);
    heap_take(&heap, ev);
    heap_order_record(&order, ev);
}

static void give_batch(uint64_t process)
{
    static struct batch b;
    static unsigned char tail[BATCH_TAIL_MOST];
    struct trace_event ev = {.kind = TRACE_BATCH, .tail = tail};
    struct process *p = &made[process];

    batch_reset(&b, p->now_ms * MS);
    for (uint32_t n = 1 + chance(30); n; n--) {
        uint32_t info = 1 + chance(INFOS);

        p->now_ms += chance(4) ? 0 : chance(20);
        batch_at(&b, (uint32_t)(process * 10 + chance(2)), p->now_ms * MS);
        if (p->live[info] && chance(2)) {
            p->live[info]--;
            batch_free(&b, info, 0);
        } else {
            p->live[info]++;
            batch_alloc(&b, info);
        }
    }
    ev.time_ns = b.last_ns;
    ev.batch = (struct trace_batch){process, b.events, b.last_ns - b.start_ns};
    ev.tail_bytes = batch_close(&b, tail);
    give(&ev);
}

static void give_sample(uint64_t process)
{
    struct trace_event ev = {.kind = chance(3) ? TRACE_ALLOC : TRACE_FREE};

    ev.time_ns = made[process].now_ms * MS;
    ev.alloc.thread = process * 10;
    ev.alloc.address = 4096 * (1 + chance(20));
    if (ev.kind == TRACE_ALLOC) {
        ev.alloc.bytes = 1 + chance(5000);
        ev.alloc.weight = 1000 + chance(9000);
    }
    give(&ev);
}

/* What was in its rings may be of a later tick than the end that was seen. */
static void give_end(uint64_t process, bool early)
{
    struct process *p = &made[process];
    uint64_t ms = early && p->now_ms > 30 ? p->now_ms - chance(30) : p->now_ms + chance(30);
    struct trace_event ev = {.kind = TRACE_PROCESS_END, .time_ns = ms * MS};

    ev.process_end.process = process;
    p->ended = true;
    give(&ev);
}

static void give_start(uint64_t process, uint64_t ms)
{
    struct trace_event ev = {.kind = TRACE_INFOS};
    unsigned char tail[INFOS * BATCH_INFO_MOST], *p = tail;

    made[process] = (struct process){.now_ms = ms};
    for (uint64_t i = 0; i < 2; i++) {
        struct trace_event thread = {.kind = TRACE_THREAD, .time_ns = ms * MS};

        thread.thread.thread = process * 10 + i;
        thread.thread.process = process;
        give(&thread);
    }
    for (uint64_t i = 1; i <= INFOS; i++)
        p += batch_put_info(p, 100 * process + 37 * i, 0, 0, 0);
    ev.infos.process = process;
    ev.infos.first = 1;
    ev.tail = tail;
    ev.tail_bytes = (size_t)(p - tail);
    give(&ev);
}

/* Records come up to a second out of order; one process is never further ahead than that. */
static void give_some(bool early)
{
    uint64_t process = 1 + chance(PROCESSES), last_ms = UINT64_MAX;

    for (uint64_t n = 1; n <= PROCESSES; n++)
        if (!made[n].ended && made[n].now_ms < last_ms)
            last_ms = made[n].now_ms;
    if (made[process].ended || made[process].now_ms > last_ms + 300)
        return;
    if (!chance(60))
        give_end(process, early);
    else if (!sampled || chance(3))
        give_batch(process);
    else
        give_sample(process);
}

static void begin(uint32_t seed)
{
    state = seed;
    sampled = seed % 2;
    memset(&replay, 0, sizeof(replay));
    names = (struct names){.arena = &arena, .file_bytes = 1 << 20};
    frames = (struct frames){.names = &names};
    threads = (struct threads){.names = &names};
    heap = (struct heap){.frames = &frames, .threads = &threads};
    heap_start(&heap, &arena, &(struct selection){0}, NULL);
    heap_order_start(&order, &heap, 3600000 * MS, take, NULL);
    for (uint64_t n = 1; n <= PROCESSES; n++)
        give_start(n, chance(50));
}

static void done(void)
{
    heap_order_free(&order);
    heap_free(&heap);
    threads_free(&threads);
    frames_free(&frames);
    names_free(&names);
    arena_free(&arena);
}

static void check_same(uint32_t seed)
{
    bool same;

    heap_order_flush(&order);
    heap_end(&heap);
    same = CHECK_EQ(heap.pass->together.peak, replay.peak);
    same = CHECK_EQ(heap.peak_ns, replay.peak_ns) && same;
    for (size_t i = 0; i < heap.process_count && !sampled; i++) {
        const struct heap_process *p = heap.processes[i];

        same = CHECK_EQ(heap_together_events(&heap, p), replay.at[p->number]) && same;
    }
    if (!same)
        printf("#   seed %u\n", (unsigned int)seed);
}

static void test_recordings(bool early)
{
    for (uint32_t seed = 1; seed <= 200; seed++) {
        begin(seed);
        for (int i = 0; i < RECORDS; i++)
            give_some(early);
        check_same(seed);
        done();
    }
}

static void test_ends_after_all(void)
{
    test_recordings(false);
}

static void test_ends_before_all_was_told(void)
{
    test_recordings(true);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"both merges find one peak", test_ends_after_all},
        {"also where a process was seen to end before its last events",
         test_ends_before_all_was_told},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
