/* The rarer records of a ring, as a program writes them and as somebody who scribbles there would.
 */
#include "check.h"

#include "base/count.h"
#include "collect/absorb.h"
#include "collect/notes.h"
#include "trace_help.h"

#define WORDS 2048u

static struct absorb absorb;
static struct absorb_process process;
static struct absorb_ring ring;
static uint64_t words[WORDS];
static struct trace *trace;

static void make(void)
{
    struct err err;

    memset(&absorb, 0, sizeof(absorb));
    memset(&process, 0, sizeof(process));
    absorb.store = trace_store_create(temporary("notes.tide"), &err);
    process.number = 1;
    process.stacks.process = 1;
    ring = (struct absorb_ring){.process = &process, .tick = 1000};
    CHECK(absorb.store != NULL);
}

static uint64_t first_word(enum ring_kind kind, uint64_t aux, uint64_t address)
{
    return (uint64_t)kind | aux << 5 | address << 16;
}

/* One record of so many words, its text after them; how many were taken. */
static uint64_t note(uint64_t first, const uint64_t *more, size_t count, const char *text)
{
    memset(words, 0, sizeof(words));
    words[0] = first;
    memcpy(words + 1, more, count * sizeof(*more));
    memcpy(words + 1 + count, text, strlen(text));
    return notes_take(&absorb, &ring, words, first, WORDS);
}

#define MORE(...)                                                                                  \
    (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

static uint64_t mark(enum ring_mark kind, uint64_t value, const char *text, uint64_t part)
{
    return note(first_word(RING_MARK, kind, 0), MORE(value, strlen(text) << 32 | part), text);
}

static void open_trace(void)
{
    const char *path = temporary("notes.tide");
    struct bytes written = {0};
    struct err err;

    absorb_flush(&absorb, &process);
    if (CHECK_EQ(trace_store_close(absorb.store, &err), 0))
        written = bytes_of_file(path);
    remove(path);
    trace = trace_open_bytes(written.data, written.size, "trace", &err);
    CHECK(trace != NULL);
}

/* The next event of this kind. */
static bool next(enum trace_kind kind, struct trace_event *ev)
{
    while (trace && trace_next(trace, ev))
        if (ev->kind == kind)
            return true;
    return CHECK(false); /* there is one more */
}

static bool is_there(enum trace_kind kind)
{
    struct trace_event ev;

    trace_rewind(trace, 0, UINT64_MAX);
    while (trace_next(trace, &ev))
        if (ev.kind == kind)
            return true;
    return false;
}

static void drop(void)
{
    trace_close(trace);
    absorb.store = NULL;
    regions_free(&ring.regions);
    absorb_process_free(&absorb, &process);
    stackmap_free(&absorb.stackmap);
}

static void test_accesses(void)
{
    struct trace_event ev;

    make();
    CHECK_EQ(note(first_word(RING_MARK, RING_MARK_ACCESS, 0x7f0012345678),
                  MORE(4096 << 4 | TRACE_ACCESS_WRITE, 3ull << 32 | 3), "add"),
             4);
    CHECK_EQ(note(first_word(RING_MARK, RING_MARK_ACCESS, 0), MORE(TRACE_ACCESS_ALL, 0), ""), 3);
    open_trace();
    next(TRACE_ACCESS, &ev);
    CHECK_EQ(ev.access.address, 0x7f0012345678);
    CHECK_EQ(ev.access.bytes, 4096);
    CHECK_EQ(ev.access.access_kind, TRACE_ACCESS_WRITE);
    CHECK_EQ(ev.access.name, 1);
    next(TRACE_ACCESS, &ev);
    CHECK_EQ(ev.access.access_kind, TRACE_ACCESS_ALL);
    CHECK_EQ(ev.access.name, 0);
    drop();
}

static void test_watched(void)
{
    struct trace_event ev;

    make();
    CHECK_EQ(note(first_word(RING_MARK, RING_MARK_WATCH, 0x7f0012345678),
                  MORE(4096 << 4 | TRACE_WATCH_BEGAN, 1ull << 32 | 1), "w"),
             4);
    CHECK_EQ(note(first_word(RING_MARK, RING_MARK_WATCH, 0x7f0012345678),
                  MORE(77 << 4 | TRACE_WATCH_CHANGED, 1ull << 32 | 1), "w"),
             4);
    open_trace();
    next(TRACE_WATCH, &ev);
    CHECK_EQ(ev.watch.address, 0x7f0012345678);
    CHECK_EQ(ev.watch.bytes, 4096);
    CHECK_EQ(ev.watch.watch_kind, TRACE_WATCH_BEGAN);
    next(TRACE_WATCH, &ev);
    CHECK_EQ(ev.watch.watch_kind, TRACE_WATCH_CHANGED);
    CHECK_EQ(ev.watch.bytes, 0);
    CHECK_EQ(ev.watch.stack, 0); /* of a stack that was not told */
    drop();
}

static void test_threads(void)
{
    struct trace_event ev;

    make();
    CHECK_EQ(note(first_word(RING_THREAD, 0, 4711), MORE(0x7000, 0x800, 0), ""), 4);
    CHECK_EQ(ring.thread, 1);
    CHECK_EQ(ring.tid, 4711);
    ring.tick = 2000;
    CHECK_EQ(note(first_word(RING_THREAD_END, 0, 0), MORE(0), ""), 1);
    CHECK_EQ(note(first_word(RING_THREAD, 0, 4712), MORE(0x7000, 0x800, 0), ""), 4);
    CHECK_EQ(ring.thread, 2); /* the ring has gone to another */
    open_trace();
    next(TRACE_THREAD, &ev);
    CHECK_EQ(ev.thread.tid, 4711);
    CHECK_EQ(ev.time_ns, 1000);
    next(TRACE_THREAD_END, &ev);
    CHECK_EQ(ev.thread_end.thread, 1);
    CHECK_EQ(ev.time_ns, 2000);
    drop();
}

/* An unmap is held back: it may fail, and then it was never there. */
static void test_unmaps(void)
{
    struct trace_event ev;

    make();
    note(first_word(RING_UNMAP, 0, 0x5000), MORE(4096, 0), "");
    ring.tick = 3000;
    note(first_word(RING_UNUNMAP, 0, 0x5000), MORE(4096, 0), "");
    note(first_word(RING_UNMAP, 0, 0x6000), MORE(8192, 0), "");
    ring.tick = 4000;
    note(first_word(RING_MAP, RING_MAP_FILE, 0x9000), MORE(4096, 1, 0, 0), "");
    open_trace();
    next(TRACE_MUNMAP, &ev);
    CHECK_EQ(ev.munmap.address, 0x6000);
    CHECK_EQ(ev.time_ns, 3000); /* when it was, not when it was told */
    next(TRACE_MMAP, &ev);
    CHECK_EQ(ev.mmap.address, 0x9000);
    CHECK_EQ(ev.mmap.mmap_kind, TRACE_MMAP_FILE);
    CHECK_EQ(process.counts.maps, 1);
    drop();
}

static void test_unmaps_that_were_told_already(void)
{
    struct trace_event ev;

    make();
    note(first_word(RING_UNMAP, 0, 0x5000), MORE(4096, 0), "");
    notes_unmap(&absorb, &ring);
    note(first_word(RING_UNUNMAP, 0, 0x5000), MORE(4096, 0), "");
    open_trace();
    next(TRACE_MUNMAP, &ev);
    next(TRACE_MMAP, &ev); /* it is there again */
    CHECK_EQ(ev.mmap.address, 0x5000);
    CHECK_EQ(ev.mmap.mmap_kind, TRACE_MMAP_MOVED);
    drop();
}

static void test_marks(void)
{
    static const enum trace_mark_kind kinds[] = {TRACE_MARK_MOMENT, TRACE_MARK_STEP,
                                                 TRACE_MARK_PAUSE, TRACE_MARK_RESUME};
    struct trace_event ev;

    make();
    CHECK_EQ(mark(RING_MARK_MOMENT, 7, "loaded", 6), 4);
    mark(RING_MARK_STEP, 8, "epoch", 5);
    mark(RING_MARK_PAUSE, 0, "", 0);
    mark(RING_MARK_RESUME, 0, "", 0);
    mark(RING_MARK_LABEL, 1, "modeltrain", 5);
    mark(RING_MARK_PROFILED, 12, "a.pyf", 4);
    open_trace();
    for (int i = 0; i < COUNT(kinds) && next(TRACE_MARK, &ev); i++) {
        CHECK_EQ(ev.mark.mark_kind, kinds[i]);
        CHECK_EQ(ev.mark.value, i == 0 ? 7 : i == 1 ? 8 : 0);
    }
    next(TRACE_LABEL, &ev);
    CHECK(ev.label.key != ev.label.value);
    next(TRACE_MARK, &ev);
    CHECK_EQ(ev.mark.mark_kind, TRACE_MARK_PROFILED);
    CHECK_EQ(ev.mark.value, 0); /* the line is in its name */
    drop();
}

static void test_regions(void)
{
    struct trace_event ev;

    make();
    note(first_word(RING_THREAD, 0, 4711), MORE(0, 0, 0), "");
    mark(RING_MARK_BEGIN, 0, "outer", 5);
    mark(RING_MARK_BEGIN, 0, "inner", 5);
    mark(RING_MARK_FINISH, 0, "", 0);
    mark(RING_MARK_FINISH, 99, "", 0); /* of no number that is open */
    ring.tick = 5000;
    note(first_word(RING_THREAD_END, 0, 0), MORE(0), ""); /* with the outer one open */
    open_trace();
    next(TRACE_REGION, &ev);
    CHECK_EQ(ev.region.parent, 0);
    next(TRACE_REGION, &ev);
    CHECK_EQ(ev.region.parent, 1);
    next(TRACE_REGION_END, &ev);
    CHECK_EQ(ev.region_end.region, 2);
    next(TRACE_REGION_END, &ev);
    CHECK_EQ(ev.region_end.region, 1);
    CHECK_EQ(ev.time_ns, 5000);
    drop();
}

/* A block that was drawn with a mean far above its size stands for many, one far below for itself.
 */
static void test_samples(void)
{
    struct trace_event ev;

    make();
    CHECK_EQ(note(first_word(RING_SAMPLE, RING_BY_MALLOC, 0x1000), MORE(0, 100, 1 << 20), ""), 4);
    CHECK_EQ(note(first_word(RING_SAMPLE, RING_BY_MALLOC, 0x2000), MORE(0, 1 << 20, 1), ""), 4);
    CHECK_EQ(note(first_word(RING_SAMPLE, RING_BY_MALLOC, 0), MORE(0, 100, 1), ""), 0);
    CHECK_EQ(process.counts.samples, 2);
    open_trace();
    next(TRACE_ALLOC, &ev);
    CHECK(ev.alloc.weight > 10000000 &&
          ev.alloc.weight < 10400000); /* 2^20 / 101, in thousandths */
    next(TRACE_ALLOC, &ev);
    CHECK_EQ(ev.alloc.weight, 1000);
    drop();
}

static void test_nonsense(void)
{
    make();
    CHECK_EQ(note(first_word(RING_KIND_END, 0, 0), MORE(0), ""), 0);
    CHECK_EQ(note(first_word(RING_TICK, 0, 0), MORE(0), ""), 0); /* none of the rare ones */
    CHECK_EQ(mark(RING_MARK_MOMENT, 0, "loaded", 7), 0);         /* its part is longer than all */
    CHECK_EQ(note(first_word(RING_MARK, 0, 0), MORE(0, (uint64_t)(RING_TEXT_MOST + 1) << 32), ""),
             0);
    CHECK_EQ(note(first_word(RING_MODULE, 0, 0x1000), MORE(1, 1, 33), ""), 0); /* its build-id */
    CHECK_EQ(note(first_word(RING_CODE, 0, 0), MORE(0, 0, 5ull << 32 | 6), "a.pyf"), 0);
    CHECK_EQ(note((uint64_t)RING_STACK | (RING_DEPTH_MOST + 9ull) << 5, MORE(0), ""), 0);
    CHECK_EQ(notes_take(&absorb, &ring, words, first_word(RING_CPU, 0, 0), 2), 0); /* cut off */
    open_trace();
    CHECK(!is_there(TRACE_MARK));
    CHECK(!is_there(TRACE_CPU));
    drop();
}

int main(void)
{
    static const struct check_test tests[] = {
        {"threads begin, end and hand their ring on", test_threads},
        {"an unmap that failed was never there", test_unmaps},
        {"an unmap that failed after it was told is undone", test_unmaps_that_were_told_already},
        {"marks, labels and functions to show", test_marks},
        {"who read and wrote memory", test_accesses},
        {"what became of watched memory", test_watched},
        {"regions nest, and end with their thread", test_regions},
        {"samples have weights", test_samples},
        {"nonsense is no record", test_nonsense},
    };
    int failed = check_run(tests, COUNT(tests));

    arena_free(&help_arena);
    return failed;
}
