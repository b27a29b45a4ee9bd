/* Which line pays for a stack, and what each line and function cost: a program of two files of
 * Python that calls the standard library, native code, and a thread that one of its lines started.
 * Then the sums of a whole trace, which must add up.
 */
#include "check.h"

#include "model/line_sums.h"

#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

#define MAIN "/home/u/app/main.py"
#define LIBRARY "/usr/lib/python3.11/json/decoder.py"
#define NONE UINT32_MAX

enum { F_MODULE = 1, F_LOOP, F_DECODE, F_NATIVE, F_LAMBDA };
enum { S_MODULE = 1, S_LOOP, S_DECODE, S_NATIVE, S_ALONE, S_LAMBDA };

static struct arena arena;
static struct names names;
static struct frames frames;
static struct scope scope;
static struct blame blame;
static uint64_t number; /* of strings */

static uint64_t text(const char *t)
{
    struct trace_event ev = {.kind = TRACE_STRING, .tail = (const unsigned char *)t};

    for (uint64_t i = 1; i <= number; i++)
        if (strcmp(names_get(&names, i), t) == 0)
            return i;
    ev.string.string = ++number;
    ev.tail_bytes = strlen(t);
    names_string(&names, &ev);
    return number;
}

static void put(enum trace_kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    struct trace_event ev = {.kind = kind, .present = 5, .fields = {a, b, c, d, e}};

    frames_take(&frames, &ev);
}

static void put_python(uint64_t frame, const char *function, const char *file, uint64_t first,
                       uint64_t line)
{
    put(TRACE_FRAME, frame, TRACE_FRAME_PYTHON, 1, first, 0);
    put(TRACE_NAME, frame, 0, text(function), text(file), line);
}

static void make(void)
{
    number = 0;
    names = (struct names){.arena = &arena};
    frames = (struct frames){.names = &names};
    scope = (struct scope){.arena = &arena};
    put_python(F_MODULE, "<module>", MAIN, 1, 9);
    put_python(F_LOOP, "loop", MAIN, 3, 5);
    put_python(F_DECODE, "decode", LIBRARY, 300, 337);
    put(TRACE_FRAME, F_NATIVE, TRACE_FRAME_ADDRESS, 1, 0x1234, 0);
    put_python(F_LAMBDA, "<lambda>", MAIN, 5, 5);
    put(TRACE_STACK, S_MODULE, 0, F_MODULE, 0, 0);
    put(TRACE_STACK, S_LOOP, S_MODULE, F_LOOP, 0, 0);
    put(TRACE_STACK, S_DECODE, S_LOOP, F_DECODE, 0, 0);
    put(TRACE_STACK, S_NATIVE, S_DECODE, F_NATIVE, 0, 0);
    put(TRACE_STACK, S_ALONE, 0, F_NATIVE, 0, 0);
    put(TRACE_STACK, S_LAMBDA, S_MODULE, F_LAMBDA, 0, 0);
    scope_command(&scope, "python3 " MAIN);
    blame_read(&blame, &frames, &scope);
}

static void drop(void)
{
    blame_free(&blame);
    scope_free(&scope);
    frames_free(&frames);
    names_free(&names);
    arena_free(&arena);
}

static uint64_t line_of(uint64_t stack)
{
    uint32_t line = blame_stack(&blame, stack);

    return line < SCOPE_KINDS ? 0 : blame.lines[line].line;
}

static void test_innermost_line_of_the_program(void)
{
    make();
    CHECK_EQ(line_of(S_MODULE), 9);
    CHECK_EQ(line_of(S_LOOP), 5);
    CHECK_EQ(line_of(S_DECODE), 5); /* the library is not the program's */
    CHECK_EQ(line_of(S_NATIVE), 5);
    CHECK_EQ(blame.file_count, 1);
    CHECK_STR(blame.files[0].path, MAIN);
    drop();
}

static void test_stacks_without_a_line(void)
{
    make();
    CHECK_EQ(blame_stack(&blame, S_ALONE), SCOPE_NATIVE);
    CHECK_EQ(blame_stack(&blame, 0), SCOPE_OWN);
    CHECK_EQ(blame_stack(&blame, 1000), SCOPE_OWN);
    CHECK_EQ(blame_function(&blame, S_ALONE), NONE);
    CHECK_EQ(blame_function(&blame, 1000), NONE);
    drop();
}

static void test_creators(void)
{
    make();
    CHECK(blame_is_foreign(&blame, S_ALONE));
    CHECK(!blame_is_foreign(&blame, S_NATIVE));
    CHECK_EQ(blame.lines[blame_creator(&blame, S_LOOP)].line, 5);
    CHECK_EQ(blame_creator(&blame, S_ALONE), NONE); /* no line of Python started it */
    drop();
}

static void test_functions(void)
{
    const struct blame_name *of_frame = NULL;
    uint32_t line;

    make();
    CHECK_EQ(blame_names(&blame, F_LOOP, &of_frame), 1);
    CHECK_STR(blame.functions[of_frame[0].function].name, "loop");
    CHECK_EQ(blame_names(&blame, F_DECODE, &of_frame), 0);
    CHECK_EQ(blame_names(&blame, 0, &of_frame), 0);
    CHECK_EQ(blame_names(&blame, 1000, &of_frame), 0);
    line = blame_stack(&blame, S_LAMBDA); /* it shares its line with loop, which is shown */
    CHECK_STR(blame.functions[blame.lines[line].function].name, "loop");
    CHECK_STR(blame.functions[blame_function(&blame, S_LAMBDA)].name, "<lambda>");
    drop();
}

/* ---- the sums of a trace ---- */

static struct trace *make_trace(const char *kind)
{
    char self[4096] = "", command[8192], path[64];
    struct err err = {0};
    struct trace *t;

    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return NULL;
    snprintf(path, sizeof(path), "/tmp/tidemark-test-blame.%d", (int)getpid());
    snprintf(command, sizeof(command), "'%s/make_lines_trace' %s %s", dirname(self), kind, path);
    if (!CHECK_EQ(system(command), 0))
        return NULL;
    t = trace_open(path, &err);
    unlink(path);
    CHECK(t != NULL);
    return t;
}

/* What lines, with those outside of the scope, add up to is what the models have. */
static void check_sums(const struct line_sums *s, const struct recorded *r)
{
    struct line_sum sum = {0};

    for (uint32_t i = 0; i < s->blame.line_count; i++)
        line_sum_add(&sum, &s->lines[i]);
    CHECK_EQ(sum.cpu.ns, r->cpu.sums.ns);
    CHECK_EQ(sum.cpu.wait_ns, r->cpu.sums.wait_ns);
    CHECK_EQ(sum.allocated.bytes, r->heap.sums.allocated.bytes);
    CHECK_EQ(sum.at_peak.bytes, r->heap.peak.bytes);
    CHECK_EQ(sum.alive.bytes, r->heap.sums.live.bytes);
    for (uint32_t i = 0; i < s->blame.function_count; i++)
        CHECK(s->selves[i].allocated.bytes <= s->totals[i].allocated.bytes);
    CHECK(line_sums_weight(s, &s->sum) <= 1);
    CHECK(line_sum_is_empty(&(struct line_sum){0}));
}

static void test_lines_add_up(void)
{
    static const char *const kinds[] = {"python", "native", "cpu", "asked"};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct trace *t = make_trace(kinds[i]);
        const struct table_series *all;
        struct line_sums s;
        struct recorded r;

        if (!t)
            return;
        recorded_open(&r, t);
        recorded_read(&r, &(struct selection){0}, LINE_SUMS_READS);
        line_sums_want(&s, &r, &(struct selection){0}, true);
        recorded_read_again(&r);
        line_sums_read(&s);
        check_sums(&s, &r);
        all = heap_series_of(&s.series, s.blame.line_count);
        CHECK_EQ(all != NULL, r.heap.any);
        for (int k = 0; all && k < all->count; k++)
            CHECK(all->bytes[k] <= r.heap.peak.bytes);
        line_sums_free(&s);
        recorded_close(&r);
        trace_close(t);
    }
}

int main(void)
{
    static const struct check_test tests[] = {
        {"the innermost line of the program", test_innermost_line_of_the_program},
        {"stacks without a line", test_stacks_without_a_line},
        {"creators", test_creators},
        {"functions", test_functions},
        {"lines add up", test_lines_add_up},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
