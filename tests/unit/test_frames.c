/* How deep the stacks of a trace may be, all together: those of recordings are whole, however deep
 * and many; what is made to be walked for ever is not.
 */
#include "check.h"

#include "model/frames.h"

#define DEEP 180 /* what a parser's recursion has on the average */

static struct arena arena;
static struct names names;
static struct frames frames;

static void stack(uint64_t number, uint64_t parent)
{
    struct trace_event ev = {.kind = TRACE_STACK, .present = 3, .fields = {number, parent, 1}};

    frames_take(&frames, &ev);
}

/* A chain of `depth` calls, and `count` stacks on top of it. */
static void make(size_t file_bytes, uint64_t depth, uint64_t count)
{
    struct trace_event frame = {.kind = TRACE_FRAME, .present = 4, .fields = {1, 0, 1, 0x1234}};

    names = (struct names){.arena = &arena, .file_bytes = file_bytes};
    frames = (struct frames){.names = &names};
    frames_take(&frames, &frame);
    for (uint64_t n = 1; n <= depth; n++)
        stack(n, n - 1);
    for (uint64_t n = depth + 1; n <= depth + count; n++)
        stack(n, depth);
}

static void deep_stacks_of_two_bytes_each_are_whole(void)
{
    uint64_t count = 1 << 20;

    make(2 * count, DEEP - 1, count);
    CHECK_EQ(frames.stack_count, DEEP - 1 + count);
    CHECK_EQ(frames.stacks[frames.stack_count].depth, DEEP);
    CHECK_EQ(frames.cut, 0);
    frames_free(&frames);
}

static void stacks_that_are_next_to_nothing_are_cut(void)
{
    uint64_t count = 200000;

    make(1 << 10, 2000, count);
    CHECK_EQ(frames.stack_count, 2000 + count);
    CHECK(frames.cut > 0);
    CHECK_EQ(frames.stacks[frames.stack_count].depth, 1);
    frames_free(&frames);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"deep stacks of two bytes each are whole", deep_stacks_of_two_bytes_each_are_whole},
        {"stacks that are next to nothing are cut", stacks_that_are_next_to_nothing_are_cut},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
