/* The sums of lines and functions: a program of Python whose functions call themselves, and native
 * threads that nobody can be found for, whose cost is of no line (whose a thread is, test_pools.c
 * tries). What a function cost is there once, however often it calls itself.
 */
#include "check.h"

#include "base/count.h"
#include "model/line_sums.h"
#include "trace_help.h"

enum { F_FIVE = 1, F_SIX, F_NATIVE, F_OTHER, F_AGAIN };
enum { S_FIVE = 1, S_SIX, S_SHARED, S_OWN, S_ONCE, S_TWICE };
enum { MAIN_THREAD = 1, BY_FIVE, BY_SIX };

static struct trace_store *store;
static struct trace *trace;
static struct recorded recorded;
static struct line_sums sums;

static uint64_t text(const char *t)
{
    return trace_store_string(store, t, strlen(t));
}

#define PUT(kind, at, ...) trace_store_put(store, kind, at, HELP_FIELDS(__VA_ARGS__), NULL, 0)

static void put_python(uint64_t frame, const char *function, uint64_t first, uint64_t line)
{
    PUT(TRACE_FRAME, 0, frame, TRACE_FRAME_PYTHON, 1, first);
    PUT(TRACE_NAME, 0, frame, 0, text(function), text("/home/u/app/main.py"), line);
}

static void put_stacks(void)
{
    put_python(F_FIVE, "starts", 4, 5);
    put_python(F_SIX, "starts", 4, 6);
    put_python(F_AGAIN, "again", 8, 9);
    PUT(TRACE_FRAME, 0, F_NATIVE, TRACE_FRAME_ADDRESS, 1, 0x1000);
    PUT(TRACE_FRAME, 0, F_OTHER, TRACE_FRAME_ADDRESS, 1, 0x2000);
    PUT(TRACE_STACK, 0, S_FIVE, 0, F_FIVE);
    PUT(TRACE_STACK, 0, S_SIX, 0, F_SIX);
    PUT(TRACE_STACK, 0, S_SHARED, 0, F_NATIVE);
    PUT(TRACE_STACK, 0, S_OWN, 0, F_OTHER);
    PUT(TRACE_STACK, 0, S_ONCE, 0, F_AGAIN);
    PUT(TRACE_STACK, 0, S_TWICE, S_ONCE, F_AGAIN);
}

static void allocate(uint64_t thread, uint64_t address, uint64_t bytes, uint64_t stack)
{
    PUT(TRACE_ALLOC, 100 + address, thread, address, bytes, stack, TRACE_BY_MALLOC);
}

static void put_events(void)
{
    PUT(TRACE_PROCESS, 1, 1, 0, 77, 0, TRACE_BORN_LAUNCHED, text("python3"),
        text("python3 /home/u/app/main.py"));
    PUT(TRACE_THREAD, 1, MAIN_THREAD, 1, 77, 0, 0, 0, 0);
    PUT(TRACE_THREAD, 2, BY_FIVE, 1, 78, 0, 0, 0, S_FIVE);
    PUT(TRACE_THREAD, 3, BY_SIX, 1, 79, 0, 0, 0, S_SIX);
    allocate(MAIN_THREAD, 0x100, 10, S_TWICE);
    allocate(BY_FIVE, 0x200, 100, S_SHARED);
    allocate(BY_SIX, 0x300, 1000, S_SHARED);
    allocate(BY_SIX, 0x400, 10000, S_OWN);
    PUT(TRACE_CPU, 5000, BY_FIVE, S_SHARED, 7000, TRACE_CPU_NATIVE);
    PUT(TRACE_CPU, 6000, BY_SIX, S_SHARED, 3000, TRACE_CPU_NATIVE);
}

static void make(void)
{
    const char *path = temporary("line_sums.tide");
    struct bytes written = {0};
    struct err err;

    store = trace_store_create(path, &err);
    if (!CHECK(store != NULL))
        return;
    put_stacks();
    put_events();
    if (CHECK_EQ(trace_store_close(store, &err), 0))
        written = bytes_of_file(path);
    remove(path);
    trace = trace_open_bytes(written.data, written.size, "trace", &err);
    recorded_open(&recorded, trace);
    recorded_read(&recorded, &(struct selection){0}, LINE_SUMS_READS);
    line_sums_want(&sums, &recorded, &(struct selection){0}, false);
    recorded_read_again(&recorded);
    line_sums_read(&sums);
}

static void drop(void)
{
    line_sums_free(&sums);
    recorded_close(&recorded);
    trace_close(trace);
}

static const struct line_sum *of_line(uint64_t line)
{
    for (uint32_t i = SCOPE_KINDS; i < sums.blame.line_count; i++)
        if (sums.blame.lines[i].line == line)
            return &sums.lines[i];
    return &sums.lines[SCOPE_OWN];
}

static const struct line_sum *of_function(const char *name, const struct line_sum *all)
{
    for (uint32_t i = 0; i < sums.blame.function_count; i++)
        if (strcmp(sums.blame.functions[i].name, name) == 0)
            return &all[i];
    return NULL;
}

static void test_threads_of_no_line(void)
{
    make();
    CHECK_EQ(of_line(5)->allocated.bytes, 0); /* to have started them is not to have them work */
    CHECK_EQ(of_line(6)->allocated.bytes, 0);
    CHECK_EQ(sums.lines[SCOPE_NATIVE].allocated.bytes, 11100);
    CHECK_EQ(sums.lines[SCOPE_NATIVE].at_peak.bytes, 11100);
    CHECK_EQ(sums.lines[SCOPE_NATIVE].cpu.ns, 10000);
    drop();
}

static void test_the_whole(void)
{
    struct line_sum sum = {0};

    make();
    for (uint32_t i = 0; i < sums.blame.line_count; i++)
        line_sum_add(&sum, &sums.lines[i]);
    CHECK_EQ(sum.allocated.bytes, 11110);
    CHECK_EQ(sums.sum.allocated.bytes, 11110);
    CHECK_EQ(sum.alive.bytes, 11110);
    CHECK_EQ(sum.cpu.ns, 10000);
    CHECK(sums.cpu_known && sums.memory_known && !sums.waits_known && !sums.copies_known);
    drop();
}

static void test_a_function_once(void)
{
    const struct line_sum *total, *self;

    make();
    total = of_function("again", sums.totals);
    self = of_function("again", sums.selves);
    CHECK_EQ(of_line(9)->allocated.bytes, 10);
    CHECK(total && total->allocated.bytes == 10);
    CHECK(self && self->allocated.bytes == 10);
    drop();
}

static void test_weights(void)
{
    struct line_sum none = {0}, half = {.cpu = {.ns = 5000, .samples = 1}};

    make();
    CHECK(line_sums_weight(&sums, &none) == 0);
    CHECK(line_sums_weight(&sums, &half) == 0.5);
    CHECK(line_sums_weight(&sums, &sums.sum) == 1);
    CHECK(line_sum_is_empty(&none) && !line_sum_is_empty(&half));
    line_sum_add(&half, &half);
    CHECK(line_sums_weight(&sums, &half) == 1);
    drop();
}

int main(void)
{
    static const struct check_test tests[] = {
        {"threads of code without a name are of no line", test_threads_of_no_line},
        {"lines add up to the whole", test_the_whole},
        {"a function has what it cost once", test_a_function_once},
        {"a weight is the largest share of anything", test_weights},
    };
    int failed = check_run(tests, COUNT(tests));

    arena_free(&help_arena);
    return failed;
}
