/* The heap of traces that make_heap_trace writes, to the byte; and the parts that it is made of.
 * The maker is beside this program.
 */
#include "check.h"

#include "analyze/heap.h"
#include "analyze/heap_grid.h"
#include "analyze/heap_live.h"

#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define MS 1000000ull
#define MIB 1048576ull

enum { S_MAIN = 1, S_LOAD, S_XMALLOC, S_PARSE, S_LIBC, S_CUT, S_JIT }; /* as the maker has them */

static struct arena arena;
static struct heap heap;
static struct trace *trace;

/* Make a trace of a kind and read it; false: it could not be made. */
static bool read_kind(const char *kind, const struct question_options *o)
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
    heap_read(&heap, &arena, trace, o ? o : &(struct question_options){0}, NULL, NULL);
    return true;
}

static void done(void)
{
    heap_free(&heap);
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
    CHECK(!heap.peak_at_least);
    CHECK_EQ(stack(S_XMALLOC)->at.bytes, 10000);
    CHECK_EQ(stack(S_PARSE)->at.bytes, 256);
    CHECK_EQ(stack(S_LOAD)->at.bytes, 3 * MIB);
    CHECK_EQ(stack(S_LIBC)->at.bytes, 0);
    CHECK_EQ(stack(S_JIT)->at.bytes, 32);
    CHECK_EQ(heap.processes[0]->peak_stack, S_LOAD);
    CHECK_EQ(heap.processes[0]->peak_stack_bytes, 3 * MIB);
    CHECK_EQ(heap.sizes[21].at.bytes, 3 * MIB);
    /* The lazy way and the way by reading again agree. */
    heap_at(&heap, trace, HEAP_AT_TIME, 1);
    again = heap_at(&heap, trace, HEAP_AT_PEAK, 0);
    CHECK_EQ(again.bytes, heap.peak.bytes);
    CHECK_EQ(stack(S_JIT)->at.bytes, 32);
    done();
}

static void test_moments(void)
{
    if (!read_kind("exact", NULL))
        return;
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_TIME, 999 * MS).bytes, 0);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_TIME, 1000 * MS).bytes, 10000);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_TIME, 2500 * MS).bytes, 10256);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_TIME, 3000 * MS).bytes, 10288);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_TIME, 6500 * MS).bytes, 2000 + 256 + 32 + 700);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_TIME, 8001 * MS).bytes, 0); /* it has ended */
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_END, 0).bytes, 3288);
    CHECK_EQ(stack(S_LIBC)->at.bytes, 1000);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_WORKED, 0).bytes, 3288); /* no Python: at the end */
    CHECK_EQ(stack(S_LIBC)->at.bytes, 1000);
    done();
}

static void test_temporary(void)
{
    if (!read_kind("exact", &(struct question_options){.temporary = 4}))
        return;
    CHECK_EQ(heap_blocks(&heap.sums.temporary), 6);
    CHECK_EQ(heap.sums.temporary.bytes, 1320);
    done();
    if (!read_kind("exact", &(struct question_options){.temporary = 3}))
        return;
    CHECK_EQ(heap_blocks(&heap.sums.temporary), 5);
    done();
}

static void test_stretch(void)
{
    if (!read_kind("exact", &(struct question_options){.from_ns = 4000 * MS, .to_ns = 6500 * MS}))
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
    CHECK_EQ(heap.thread_count, 2);
    CHECK_EQ(heap_blocks(&heap.threads[0]->sums.allocated), 23);
    CHECK_EQ(heap_blocks(&heap.threads[1]->sums.allocated), 10);
    CHECK_EQ(heap.threads[1]->sums.freed.bytes, 3 * MIB);
    CHECK_STR(heap.threads[1]->name, "second");
    CHECK(heap.threads[1]->ended);
    done();
}

static void test_processes(void)
{
    if (!read_kind("two", NULL))
        return;
    CHECK_EQ(heap.process_count, 2);
    CHECK(heap.peak_at_least);
    CHECK_EQ(heap.peak.bytes, 7300);
    CHECK_EQ(heap.peak_ns, 3000 * MS);
    CHECK_EQ(stack(S_LIBC)->at.bytes, 5000);
    CHECK_EQ(stack(S_PARSE)->at.bytes, 1800);
    CHECK_EQ(stack(S_PARSE)->processes, 2);
    CHECK_EQ(heap_process_of(&heap, 1)->peak.bytes, 1000);
    CHECK_EQ(heap_process_of(&heap, 2)->peak.bytes, 7000);
    CHECK_EQ(heap_process_of(&heap, 1)->sums.live.bytes, 300);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_END, 0).bytes, 800);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_TIME, 5000 * MS).bytes, 0);
    done();
}

static void test_samples(void)
{
    if (!read_kind("sampled", NULL))
        return;
    CHECK(heap.sampled && !heap.exact);
    CHECK_EQ(heap.sums.allocated.bytes, 10000 + MIB);
    CHECK_EQ(heap_blocks(&heap.sums.allocated), 11);
    CHECK(fabs(heap_error(&heap.sums.allocated) - sqrt(4e7) / (10000 + MIB) * 100) < 1e-9);
    CHECK_EQ(heap.sums.live.bytes, 5000 + MIB);
    CHECK(fabs(heap.sums.live.variance - 2e7) < 1e-3);
    CHECK_EQ(heap.peak.bytes, 10000 + MIB);
    CHECK_EQ(heap.unknown_frees, 1);
    CHECK_EQ(stack(S_XMALLOC)->lived[15], 5000); /* 2 s */
    CHECK_EQ(stack(S_LOAD)->at.variance > 0, 0);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_TIME, 1500 * MS).bytes, 5000);
    CHECK_EQ(heap_at(&heap, trace, HEAP_AT_PEAK, 0).bytes, 10000 + MIB);
    done();
}

static void test_names(void)
{
    const struct table_stack *s;
    struct table_frame site;

    if (!read_kind("exact", NULL))
        return;
    site = frames_site(&heap.frames, S_XMALLOC);
    CHECK_STR(table_frame_text(&arena, &site), "load (load.c:20)");
    site = frames_site(&heap.frames, S_PARSE);
    CHECK_STR(table_frame_text(&arena, &site), "inner (inner.h:5) [inlined]");
    s = frames_stack(&heap.frames, &arena, S_PARSE);
    CHECK_EQ(s->count, 3);
    CHECK_STR(s->frames[1].function, "parse");
    CHECK_EQ(s->frames[1].flags, 0);
    CHECK_STR(s->frames[2].function, "main");
    s = frames_stack(&heap.frames, &arena, S_XMALLOC);
    CHECK_STR(s->frames[0].function, "xmalloc"); /* the stack itself has all of it */
    s = frames_stack(&heap.frames, &arena, S_LIBC);
    CHECK_STR(table_frame_text(&arena, &s->frames[0]), "libc.so.6+0x1234");
    s = frames_stack(&heap.frames, &arena, S_JIT);
    CHECK_STR(table_frame_text(&arena, &s->frames[0]), "0x7f0000 [guessed]");
    CHECK_STR(table_frame_text(&arena, &s->frames[1]), "[not followed further]");
    CHECK(frames_stack(&heap.frames, &arena, 0) == NULL);
    done();
}

static void test_allocators(void)
{
    CHECK(frames_is_allocator("malloc"));
    CHECK(frames_is_allocator("CRYPTO_malloc"));
    CHECK(frames_is_allocator("zrealloc"));
    CHECK(frames_is_allocator("xstrdup"));
    CHECK(frames_is_allocator("operator new(unsigned long)"));
    CHECK(!frames_is_allocator("mallocate"));
    CHECK(!frames_is_allocator("main"));
    CHECK(!frames_is_allocator(""));
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
    struct heap_high none = {0}, spike = {.rise = 500, .event = 7, .time_ns = 3000 * MS};
    size_t best;

    heap_grid_init(&g, steps);
    heap_grid_add(&g, 1000 * MS, 100, &none);
    heap_grid_add(&g, 3000 * MS, 0, &spike);
    heap_grid_add(&g, 4000 * MS, (uint64_t)-50, &none);
    heap_grid_add(&g, 10000000 * MS, 10, &none); /* 10 000 s: steps of about 268 ms */
    best = heap_grid_sum(&g, 0);
    CHECK_EQ(g.steps[g.count - 1].live, 60);
    CHECK_EQ(g.steps[best].live + g.steps[best].high.rise, 600);
    CHECK_EQ(g.steps[best].high.event, 7);
    CHECK(g.step_ns < 300 * MS);
    free(steps);
}

/* Numbers far apart cost memory for all between: a trace may have few of them in all. */
static void test_numbers_far_apart(void)
{
    struct arena own = {0};
    struct frames f = {.names.arena = &own};

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
        {"grid", test_grid},
        {"numbers far apart", test_numbers_far_apart},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
