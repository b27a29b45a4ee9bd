/* Stacks as programs tell them, and the tree of the trace that they become. */
#include "check.h"

#include "base/count.h"
#include "collect/stackmap.h"
#include "trace/batch.h"
#include "trace/ring.h"
#include "trace_help.h"

#define DEPTH 12
#define STACKS 3000
#define PYTHON(code, line) (RING_FRAME_PYTHON | (uint64_t)(code) << 24 | (line))

static struct stackmap map;
static struct stackmap_process one = {.process = 1}, two = {.process = 2};
static struct trace_store *store;

static void make(void)
{
    struct err err;

    store = trace_store_create(temporary("stackmap.tide"), &err);
    CHECK(store != NULL);
}

/* The records that were written. */
static struct bytes drop(void)
{
    const char *path = temporary("stackmap.tide");
    struct bytes written = {0};
    struct err err;

    stackmap_flush(&map, store);
    if (CHECK_EQ(trace_store_close(store, &err), 0))
        written = bytes_of_file(path);
    remove(path);
    stackmap_process_free(&one);
    stackmap_process_free(&two);
    stackmap_free(&map);
    map = (struct stackmap){0};
    one = (struct stackmap_process){.process = 1};
    two = (struct stackmap_process){.process = 2};
    return written;
}

static void load(struct stackmap_process *p, uint64_t start, const char *path, unsigned char id)
{
    struct stackmap_module m = {start, 0x1000, start, 0};

    stackmap_module(&map, p, store, &m, path, strlen(path), &id, 1);
}

static void tell(struct stackmap_process *p, uint32_t number, uint32_t from, uint32_t without,
                 const uint64_t *frames, size_t count)
{
    struct stackmap_told told = {number, from, without, frames, count};

    stackmap_define(&map, p, store, &told);
}

static void test_programs_share_stacks(void)
{
    make();
    load(&one, 0x10000, "/bin/x", 1);
    load(&two, 0x70000, "/bin/x", 1);
    tell(&one, 1, 0, 0, (uint64_t[]){0x10010, 0x10020}, 2);
    tell(&two, 9, 0, 0, (uint64_t[]){0x70010, 0x70020}, 2);
    CHECK(stackmap_stack(&one, 1) != 0);
    CHECK_EQ(stackmap_stack(&one, 1), stackmap_stack(&two, 9));
    CHECK_EQ(map.module_count, 1);
    CHECK_EQ(map.frame_count, 2);
    CHECK_EQ(map.tree.count, 2);
    drop();
}

static void test_another_build_is_another_file(void)
{
    make();
    load(&one, 0x10000, "/bin/x", 1);
    load(&two, 0x10000, "/bin/x", 2);
    tell(&one, 1, 0, 0, (uint64_t[]){0x10010}, 1);
    tell(&two, 1, 0, 0, (uint64_t[]){0x10010}, 1);
    CHECK_EQ(map.module_count, 2);
    CHECK(stackmap_stack(&one, 1) != stackmap_stack(&two, 1));
    drop();
}

/* A return address may be the first byte after the file: the call is before it. */
static void test_the_last_call_of_a_file(void)
{
    make();
    load(&one, 0x10000, "/bin/x", 1);
    load(&one, 0x11000, "/bin/y", 2);
    load(&two, 0x40000, "/bin/x", 1);
    tell(&one, 1, 0, 0, (uint64_t[]){0x11000}, 1);
    tell(&two, 1, 0, 0, (uint64_t[]){0x41000}, 1);
    CHECK_EQ(stackmap_stack(&one, 1), stackmap_stack(&two, 1));
    drop();
}

static void test_unloaded_files_are_forgotten(void)
{
    make();
    load(&one, 0x10000, "/bin/x", 1);
    tell(&one, 1, 0, 0, (uint64_t[]){0x10010}, 1);
    stackmap_unloaded(&one);
    tell(&one, 2, 0, 0, (uint64_t[]){0x10010}, 1);
    CHECK(stackmap_stack(&one, 1) != stackmap_stack(&one, 2));
    load(&one, 0x10000, "/bin/x", 1);
    tell(&one, 3, 0, 0, (uint64_t[]){0x10010}, 1);
    CHECK_EQ(stackmap_stack(&one, 1), stackmap_stack(&one, 3));
    drop();
}

static void test_a_child_knows_what_its_parent_told(void)
{
    make();
    load(&one, 0x10000, "/bin/x", 1);
    tell(&one, 1, 0, 0, (uint64_t[]){0x10010}, 1);
    two.parent = &one;
    CHECK_EQ(stackmap_stack(&two, 1), stackmap_stack(&one, 1));
    tell(&two, 2, 1, 0, (uint64_t[]){0x10030}, 1); /* goes on from it, in the same file */
    CHECK_EQ(map.tree.nodes[stackmap_stack(&two, 2)].parent, stackmap_stack(&one, 1));
    CHECK_EQ(stackmap_stack(&one, 2), 0); /* and not the other way round */
    CHECK_EQ(map.module_count, 1);
    drop();
}

static void test_what_is_told_first_counts(void)
{
    uint32_t first;

    make();
    tell(&one, 5, 0, 0, (uint64_t[]){0x10}, 1);
    first = stackmap_stack(&one, 5);
    tell(&one, 5, 0, 0, (uint64_t[]){0x20}, 1);
    CHECK_EQ(stackmap_stack(&one, 5), first);
    tell(&one, RING_STACKS_MOST, 0, 0, (uint64_t[]){0x20}, 1);
    CHECK_EQ(stackmap_stack(&one, RING_STACKS_MOST), 0);
    CHECK_EQ(stackmap_stack(&one, RING_STACKS_MOST - 1), 0);
    tell(&one, 6, 4711, 3, (uint64_t[]){0x20}, 1); /* from one that was never told */
    CHECK_EQ(map.tree.nodes[stackmap_stack(&one, 6)].parent, 0);
    tell(&one, 7, 5, 1000, (uint64_t[]){0x20}, 1); /* without more than it has */
    CHECK_EQ(stackmap_stack(&one, 7), stackmap_stack(&one, 6));
    drop();
}

static void test_lines_of_python(void)
{
    make();
    stackmap_code(&one, store, 3, 10, "a.pyf", 4, 5);
    stackmap_code(&two, store, 8, 10, "a.pyf", 4, 5);
    tell(&one, 1, 0, 0, (uint64_t[]){PYTHON(3, 12)}, 1);
    tell(&one, 2, 0, 0, (uint64_t[]){PYTHON(3, 13)}, 1);
    tell(&two, 1, 0, 0, (uint64_t[]){PYTHON(8, 12)}, 1);
    CHECK(stackmap_stack(&one, 1) != stackmap_stack(&one, 2));
    CHECK_EQ(stackmap_stack(&one, 1), stackmap_stack(&two, 1)); /* the same line of the same file */
    CHECK_EQ(map.frame_count, 2);
    drop();
}

/* ---- many ---- */

static uint64_t frames_of[STACKS + 1][DEPTH * 2]; /* the outermost first */
static size_t depth_of[STACKS + 1];
static uint64_t dice = 5;

static uint64_t chance(uint64_t of)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (dice >> 33) % of;
}

static void tell_one(uint32_t number)
{
    uint32_t from = number > 1 && chance(3) ? 1 + (uint32_t)chance(number - 1) : 0;
    size_t had = from ? depth_of[from] : 0, without = had ? chance(had + 1) : 0,
           kept = had - without;
    size_t count = 1 + chance(kept < DEPTH ? DEPTH : 3);
    uint64_t told[DEPTH];

    count = kept + count > (size_t)DEPTH * 2 ? (size_t)DEPTH * 2 - kept : count;
    memcpy(frames_of[number], frames_of[from], kept * sizeof(told[0]));
    for (size_t i = 0; i < count; i++)
        frames_of[number][kept + i] = told[count - 1 - i] = 16 + 16 * chance(5);
    depth_of[number] = kept + count;
    tell(&one, number, from, (uint32_t)without, told, count);
}

/* Frames are addresses of process 1, so a frame's number says which. */
static void check_one(uint32_t number, uint64_t numbers[])
{
    uint64_t stack = stackmap_stack(&one, number);
    size_t depth = depth_of[number];

    for (; stack && depth; stack = map.tree.nodes[stack].parent) {
        uint64_t address = frames_of[number][--depth], *known = &numbers[address / 16];

        *known = *known ? *known : map.tree.nodes[stack].frame;
        if (!CHECK_EQ(map.tree.nodes[stack].frame, *known))
            return;
    }
    CHECK_EQ(stack, 0);
    CHECK_EQ(depth, 0);
}

/* What stands in the trace is the tree that events refer to. */
static void check_written(struct bytes written, const struct stacktree_node *nodes, uint64_t count)
{
    struct err err;
    struct trace *t = trace_open_bytes(written.data, written.size, "trace", &err);
    struct trace_event ev;
    uint64_t seen = 0;

    while (CHECK(t != NULL) && trace_next(t, &ev)) {
        const unsigned char *tail = ev.tail;
        size_t size = ev.tail_bytes;
        uint64_t next = ev.stacks.first;
        struct trace_stack s;

        while (ev.kind == TRACE_STACKS && batch_next_stack(&tail, &size, &next, &s)) {
            CHECK_EQ(s.stack, ++seen);
            CHECK(s.stack <= count && nodes[s.stack].parent == s.parent &&
                  nodes[s.stack].frame == s.frame);
        }
    }
    CHECK_EQ(seen, count);
    trace_close(t);
}

static void test_many_stacks(void)
{
    uint64_t numbers[8] = {0}, count;
    struct stacktree_node *nodes;

    make();
    for (uint32_t i = 1; i <= STACKS; i++)
        tell_one(i);
    for (uint32_t i = 1; i <= STACKS && !check_failures; i++)
        check_one(i, numbers);
    for (uint64_t i = 1; i <= map.tree.count; i++) /* no two are the same */
        for (uint64_t k = i + 1; k <= map.tree.count && k < i + 50; k++)
            CHECK(map.tree.nodes[i].parent != map.tree.nodes[k].parent ||
                  map.tree.nodes[i].frame != map.tree.nodes[k].frame);
    count = map.tree.count;
    nodes = arena_alloc(&help_arena, (count + 1) * sizeof(*nodes));
    memcpy(nodes, map.tree.nodes, (count + 1) * sizeof(*nodes));
    check_written(drop(), nodes, count);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"programs of one file share their stacks", test_programs_share_stacks},
        {"another build is another file", test_another_build_is_another_file},
        {"the last call of a file is in it", test_the_last_call_of_a_file},
        {"files that were unloaded are forgotten", test_unloaded_files_are_forgotten},
        {"a child knows what its parent told", test_a_child_knows_what_its_parent_told},
        {"what is told first counts, and nonsense is no stack", test_what_is_told_first_counts},
        {"lines of Python are shared by file, function and line", test_lines_of_python},
        {"many stacks become one tree, which is written", test_many_stacks},
    };
    int failed = check_run(tests, COUNT(tests));

    arena_free(&help_arena);
    return failed;
}
