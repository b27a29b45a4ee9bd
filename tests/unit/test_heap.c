/* The heap of traces that make_heap_trace writes, to the byte; and the parts that it is made of.
 * The maker is beside this program.
 */
#include "check.h"

#include "model/allowed.h"
#include "model/heap_grid.h"
#include "model/heap_live.h"
#include "model/heap_pass.h"
#include "model/plumbing.h"
#include "model/recorded.h"
#include "questions/table.h"

#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define MS 1000000ull
#define MIB 1048576ull

enum { S_MAIN = 1, S_LOAD, S_XMALLOC, S_PARSE, S_LIBC, S_CUT, S_JIT }; /* as the maker has them */

static struct arena arena;
static struct recorded recorded;
static struct trace *trace;

/* Blocks of 0 bytes are blocks: the smallest of a stack is 0 whichever was defined first. */
static void test_sizes_seen(void)
{
    static const uint64_t sizes[2][2] = {{0, 48}, {48, 0}};

    for (int i = 0; i < 2; i++) {
        struct arena own = {0};
        struct names names = {.arena = &own, .file_bytes = 8 << 20};
        struct frames f = {.names = &names};
        struct threads threads = {.names = &names};
        struct heap h = {.frames = &f, .threads = &threads};
        unsigned char tail[2 * BATCH_INFO_MOST], batched[BATCH_TAIL_MOST];
        size_t used = batch_put_info(tail, sizes[i][0], 0, 0, 0);
        struct trace_event infos = {.kind = TRACE_INFOS, .infos = {1, 1}, .tail = tail};
        struct trace_event ev = {.kind = TRACE_BATCH, .time_ns = MS, .tail = batched};
        static struct batch b;

        heap_start(&h, &own, &(struct selection){0}, NULL);
        heap_want_seen(&h);
        infos.tail_bytes = used + batch_put_info(tail + used, sizes[i][1], 0, 0, 0);
        heap_take(&h, &infos);
        batch_reset(&b, 0);
        batch_at(&b, 1, MS);
        batch_alloc(&b, 1);
        batch_alloc(&b, 2);
        ev.batch = (struct trace_batch){1, b.events, MS};
        ev.tail_bytes = batch_close(&b, batched);
        heap_take(&h, &ev);
        heap_end(&h);
        if (CHECK_EQ(h.stack_count, 1)) {
            const struct heap_seen seen = heap_stack_sum(&h, &h.stacks[0]).seen;

            CHECK(seen.any);
            CHECK_EQ(seen.least, 0);
            CHECK_EQ(seen.most, 48);
            CHECK_EQ(seen.first_ns, MS);
            CHECK_EQ(seen.last_ns, MS);
        }
        heap_free(&h);
        threads_free(&threads);
        frames_free(&f);
        names_free(&names);
        arena_free(&own);
    }
}

#define heap (recorded.heap)

/* What lived then, read again where that is needed. */
static struct heap_amount at(enum heap_moment moment, uint64_t time_ns)
{
    heap_want(&heap, moment, time_ns);
    recorded_read_again(&recorded);
    return heap_at(&heap, moment, time_ns);
}

/* Make a trace of a kind and read it; false: it could not be made. */
static bool read_kind(const char *kind, const struct selection *o)
{
    static const char path[] = "/tmp/tidemark-test-heap.tide";
    char self[4096] = "", command[8192];
    struct err err = {0};

    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return false;
    snprintf(command, sizeof(command), "'%s/make_heap_trace' %s %s.%d", dirname(self), kind, path,
             (int)getpid());
    if (!CHECK_EQ(system(command), 0))
        return false;
    snprintf(command, sizeof(command), "%s.%d", path, (int)getpid());
    trace = trace_open(command, &err);
    unlink(command);
    if (!CHECK(trace != NULL))
        return false;
    recorded_open(&recorded, trace);
    recorded_read(&recorded, o ? o : &(struct selection){0}, RECORDED_HEAP);
    at(HEAP_AT_PEAK, 0);
    return true;
}

static void done(void)
{
    recorded_close(&recorded);
    trace_close(trace);
    arena_free(&arena);
}

static const struct heap_stack *stack(uint64_t number)
{
    static const struct heap_stack none;

    for (size_t i = 0; i < heap.stack_count; i++)
        if (heap.stacks[i].number == number)
            return &heap.stacks[i];
    return &none;
}

struct lived {
    uint64_t stack;
    uint64_t sum[HEAP_LIVED_CLASSES];
};

static void add_lived(void *context, uint64_t number, const struct heap_life *life)
{
    struct lived *l = context;

    for (int i = 0; number == l->stack && i < HEAP_LIVED_CLASSES; i++)
        l->sum[i] += life->lived[i];
}

/* Milliblocks of a stack, of a class of lifetimes. */
static uint64_t lived_of(uint64_t number, int class)
{
    struct lived l = {.stack = number};

    heap_each_life(&heap, add_lived, &l);
    return l.sum[class];
}

static void test_totals(void)
{
    if (!read_kind("exact", NULL))
        return;
    CHECK(heap.any && heap.exact && !heap.sampled);
    CHECK_EQ(heap.process_count, 1);
    CHECK_EQ(heap.sums.allocated.bytes, 10000 + 9 * 64 + 3 * MIB + 10 * 100 + 32);
    CHECK_EQ(heap_blocks(&heap.sums.allocated), 33);
    CHECK_EQ(heap.sums.freed.bytes, 8000 + 5 * 64 + 3 * MIB);
    CHECK_EQ(heap_blocks(&heap.sums.freed), 16);
    CHECK_EQ(heap.sums.live.bytes, 3288);
    CHECK_EQ(heap_blocks(&heap.sums.live), 17);
    CHECK_EQ(heap_blocks(&heap.sums.temporary), 5);
    CHECK_EQ(heap.sums.temporary.bytes, 320);
    CHECK_EQ(heap.unknown_frees, 1);
    CHECK_EQ(heap.left_out, 0);
    CHECK_EQ(heap_error(&heap.sums.allocated) > 0, 0);
    CHECK_EQ(heap.lived[0], (5 + 3) * 1000); /* the free that was taken back is not among them */
    CHECK_EQ(heap.lived[15] + heap.lived[14] + heap.lived[13], 8 * 1000);
    done();
}

static void test_peak(void)
{
    struct heap_amount again;

    if (!read_kind("exact", NULL))
        return;
    CHECK_EQ(heap.peak.bytes, 10000 + 4 * 64 + 3 * MIB + 32);
    CHECK_EQ(heap_blocks(&heap.peak), 18);
    CHECK_EQ(heap.peak_ns, 3000 * MS);
    CHECK(!heap.peak_of_several);
    CHECK_EQ(stack(S_XMALLOC)->at.bytes, 10000);
    CHECK_EQ(stack(S_PARSE)->at.bytes, 256);
    CHECK_EQ(stack(S_LOAD)->at.bytes, 3 * MIB);
    CHECK_EQ(stack(S_LIBC)->at.bytes, 0);
    CHECK_EQ(stack(S_JIT)->at.bytes, 32);
    CHECK_EQ(heap.processes[0]->peak_stack, S_LOAD);
    CHECK_EQ(heap.processes[0]->peak_stack_bytes, 3 * MIB);
    CHECK_EQ(heap.sizes[21].at.bytes, 3 * MIB);
    /* The lazy way and the way by reading again agree. */
    at(HEAP_AT_TIME, 1);
    again = at(HEAP_AT_PEAK, 0);
    CHECK_EQ(again.bytes, heap.peak.bytes);
    CHECK_EQ(stack(S_JIT)->at.bytes, 32);
    done();
}

static void test_moments(void)
{
    if (!read_kind("exact", NULL))
        return;
    CHECK_EQ(at(HEAP_AT_TIME, 999 * MS).bytes, 0);
    CHECK_EQ(at(HEAP_AT_TIME, 1000 * MS).bytes, 10000);
    CHECK_EQ(at(HEAP_AT_TIME, 2500 * MS).bytes, 10256);
    CHECK_EQ(at(HEAP_AT_TIME, 3000 * MS).bytes, 10288);
    CHECK_EQ(at(HEAP_AT_TIME, 6500 * MS).bytes, 2000 + 256 + 32 + 700);
    CHECK_EQ(at(HEAP_AT_TIME, 8001 * MS).bytes, 0); /* it has ended */
    CHECK_EQ(at(HEAP_AT_END, 0).bytes, 3288);
    CHECK_EQ(stack(S_LIBC)->at.bytes, 1000);
    CHECK_EQ(at(HEAP_AT_WORKED, 0).bytes, 3288); /* no Python: at the end */
    CHECK_EQ(stack(S_LIBC)->at.bytes, 1000);
    done();
}

static void test_temporary(void)
{
    if (!read_kind("exact", &(struct selection){.temporary = 4}))
        return;
    CHECK_EQ(heap_blocks(&heap.sums.temporary), 6);
    CHECK_EQ(heap.sums.temporary.bytes, 1320);
    done();
    if (!read_kind("exact", &(struct selection){.temporary = 3}))
        return;
    CHECK_EQ(heap_blocks(&heap.sums.temporary), 5);
    done();
}

static void test_stretch(void)
{
    if (!read_kind("exact", &(struct selection){.from_ns = 4000 * MS, .to_ns = 6500 * MS}))
        return;
    CHECK_EQ(heap_blocks(&heap.sums.allocated), 7);
    CHECK_EQ(heap_blocks(&heap.sums.freed), 8);
    CHECK_EQ(heap.sums.live.bytes, 2000 + 256 + 32 + 700);
    CHECK_EQ(heap.peak.bytes, 10288); /* what lived when it began */
    CHECK_EQ(heap.unknown_frees, 0);
    done();
}

static void test_threads(void)
{
    if (!read_kind("exact", NULL))
        return;
    CHECK_EQ(recorded.threads.count, 2);
    CHECK_EQ(heap_blocks(&heap.thread_sums[0].allocated), 23);
    CHECK_EQ(heap_blocks(&heap.thread_sums[1].allocated), 10);
    CHECK_EQ(heap.thread_sums[1].freed.bytes, 3 * MIB);
    CHECK_STR(recorded.threads.list[1]->name, "second");
    CHECK(recorded.threads.list[1]->ended);
    done();
}

static void test_processes(void)
{
    if (!read_kind("two", NULL))
        return;
    CHECK_EQ(heap.process_count, 2);
    CHECK(heap.peak_of_several);
    CHECK_EQ(heap.peak.bytes, 7300);
    CHECK_EQ(heap.peak_ns, 3000 * MS);
    CHECK_EQ(stack(S_LIBC)->at.bytes, 5000);
    CHECK_EQ(stack(S_PARSE)->at.bytes, 1800);
    CHECK_EQ(stack(S_PARSE)->processes, 2);
    CHECK_EQ(heap_process_of(&heap, 1)->peak.bytes, 1000);
    CHECK_EQ(heap_process_of(&heap, 2)->peak.bytes, 7000);
    CHECK_EQ(heap_process_of(&heap, 1)->sums.live.bytes, 300);
    CHECK_EQ(at(HEAP_AT_END, 0).bytes, 800);
    CHECK_EQ(at(HEAP_AT_TIME, 5000 * MS).bytes, 0);
    done();
}

static void test_samples(void)
{
    double square;

    if (!read_kind("sampled", NULL))
        return;
    CHECK(heap.sampled && !heap.exact);
    CHECK_EQ(heap.sums.allocated.bytes, 10000 + MIB);
    CHECK_EQ(heap_blocks(&heap.sums.allocated), 11);
    square = 4e7 / ((10000. + MIB) * (10000. + MIB)); /* two samples more that might have been */
    CHECK(fabs(heap_error(&heap.sums.allocated) - sqrt(square * (1 + 2 * square)) * 100) < 1e-9);
    CHECK_EQ(heap.sums.live.bytes, 5000 + MIB);
    CHECK(fabs(heap.sums.live.variance - 2e7) < 1e-3);
    CHECK_EQ(heap.peak.bytes, 10000 + MIB);
    CHECK_EQ(heap.unknown_frees, 1);
    CHECK_EQ(lived_of(S_XMALLOC, 15), 5000); /* 2 s */
    CHECK_EQ(heap_stack_at(&heap, stack(S_LOAD)).variance > 0, 0);
    CHECK_EQ(at(HEAP_AT_TIME, 1500 * MS).bytes, 5000);
    CHECK_EQ(at(HEAP_AT_PEAK, 0).bytes, 10000 + MIB);
    done();
}

static void test_names(void)
{
    const struct table_stack *s;
    struct table_frame site;

    if (!read_kind("exact", NULL))
        return;
    site = frames_site(&recorded.frames, S_XMALLOC);
    CHECK_STR(table_frame_text(&arena, &site), "load (load.c:20)");
    site = frames_site(&recorded.frames, S_PARSE);
    CHECK_STR(table_frame_text(&arena, &site), "inner (inner.h:5) [inlined]");
    s = frames_stack(&recorded.frames, &arena, S_PARSE);
    CHECK_EQ(s->count, 3);
    CHECK_STR(s->frames[1].function, "parse");
    CHECK_EQ(s->frames[1].flags, 0);
    CHECK_STR(s->frames[2].function, "main");
    s = frames_stack(&recorded.frames, &arena, S_XMALLOC);
    CHECK_STR(s->frames[0].function, "xmalloc"); /* the stack itself has all of it */
    s = frames_stack(&recorded.frames, &arena, S_LIBC);
    CHECK_STR(table_frame_text(&arena, &s->frames[0]), "libc.so.6+0x1234");
    s = frames_stack(&recorded.frames, &arena, S_JIT);
    CHECK_STR(table_frame_text(&arena, &s->frames[0]), "0x7f0000 [guessed]");
    CHECK_STR(table_frame_text(&arena, &s->frames[1]), "[not followed further]");
    CHECK(frames_stack(&recorded.frames, &arena, 0) == NULL);
    done();
}

static void test_allocators(void)
{
    CHECK(plumbing_is_allocator("malloc"));
    CHECK(plumbing_is_allocator("CRYPTO_malloc"));
    CHECK(plumbing_is_allocator("zrealloc"));
    CHECK(plumbing_is_allocator("xstrdup"));
    CHECK(plumbing_is_allocator("operator new(unsigned long)"));
    CHECK(!plumbing_is_allocator("mallocate"));
    CHECK(!plumbing_is_allocator("main"));
    CHECK(!plumbing_is_allocator(""));
}

/* Against a plain array: blocks come and go, half of them at addresses that collide. */
static void test_live(void)
{
    enum { N = 512 };
    bool alive[N] = {0};
    struct heap_live live = {0};
    size_t count = 0;

    srandom(1);
    for (int i = 0; i < 20000; i++) {
        size_t n = (size_t)(random() % N);
        uint64_t address = n % 2 ? n << 32 : n * 16;
        uint32_t process = 1 + (uint32_t)n % 3;
        struct heap_block *b = heap_live_find(&live, process, address);

        if (!CHECK_EQ(b != NULL, alive[n]))
            break;
        if (b)
            heap_live_remove(&live, b);
        else
            heap_live_add(&live, process, address)->born_ns = n;
        count += alive[n] ? (size_t)-1 : 1;
        alive[n] = !alive[n];
        CHECK_EQ(live.used, count);
    }
    heap_live_free(&live);
}

/* Steps that grow longer keep the sums and lose no peak. */
static void test_grid(void)
{
    struct heap_grid g;
    struct heap_step *steps = calloc(HEAP_GRID_STEPS, sizeof(*steps));
    uint64_t most = 0;

    heap_grid_init(&g, steps);
    heap_grid_add(&g, 1000 * MS, 0, 100, 100);
    heap_grid_add(&g, 3000 * MS, 100, 600, 100);
    heap_grid_add(&g, 4000 * MS, 100, 100, 50);
    heap_grid_add(&g, 10000000 * MS, 50, 60, 60); /* 10 000 s: steps of about 268 ms */
    heap_grid_end(&g);
    for (size_t i = 0; i < g.count; i++)
        most = g.steps[i].high > most ? g.steps[i].high : most;
    CHECK_EQ(g.steps[g.count - 1].live, 60);
    CHECK_EQ(g.steps[g.count - 2].high, 50);
    CHECK_EQ(most, 600);
    CHECK(g.step_ns < 300 * MS);
    free(steps);
}

/* Numbers far apart cost memory for all between: a trace may have as many as its size allows. */
static void test_numbers_far_apart(void)
{
    struct arena own = {0};
    struct names names = {.arena = &own, .file_bytes = 8 << 20};
    struct frames f = {.names = &names};

    for (uint64_t i = 1; i <= 64; i++) {
        struct trace_event ev = {.kind = TRACE_STACK, .stack = {i << 20, 0, 0}};

        frames_take(&f, &ev);
    }
    CHECK(f.stack_count >= 1 << 20); /* a lost chunk may have defined so many */
    CHECK(f.stack_count <= 1 << 21);
    CHECK_EQ(f.left_out, 62);
    frames_free(&f);
    arena_free(&own);
}

/* Above what all stacks may have together, a stack stands alone, and says so. */
static void test_too_many_frames(void)
{
    struct arena own = {0};
    struct names names = {.arena = &own};
    struct frames f = {.names = &names};
    const struct table_stack *s;
    uint64_t last = 0;

    for (uint64_t i = 1; !f.cut && i < 1 << 18; i++) { /* chains of 4,000 each */
        struct trace_event ev = {.kind = TRACE_STACK, .stack = {i, i % 4000 ? i - 1 : 0, 0}};

        frames_take(&f, &ev);
        last = i;
    }
    CHECK_EQ(f.cut, 1);
    CHECK(f.depths <= ALLOWED_DEPTHS(0) && f.depths > ALLOWED_DEPTHS(0) - 4096);
    frames_share(&f);
    s = frames_shared(&f, last);
    CHECK_EQ(s->count, 2);
    CHECK_EQ(s->frames[1].flags, TABLE_FRAME_CUT);
    CHECK_EQ(frames_stack(&f, &own, last)->count, 2);
    s = frames_shared(&f, last - 1);
    CHECK(s->count > 2);
    CHECK_EQ(frames_stack(&f, &own, last - 1)->count, s->count);
    CHECK_EQ(table_stack_whole(&own, s)[s->count - 1].flags, 0);
    frames_free(&f);
    arena_free(&own);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"totals", test_totals},
        {"peak", test_peak},
        {"moments", test_moments},
        {"temporary", test_temporary},
        {"stretch", test_stretch},
        {"threads", test_threads},
        {"processes", test_processes},
        {"samples", test_samples},
        {"names", test_names},
        {"allocators", test_allocators},
        {"live blocks", test_live},
        {"sizes that were seen", test_sizes_seen},
        {"grid", test_grid},
        {"numbers far apart", test_numbers_far_apart},
        {"too many frames", test_too_many_frames},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
