/* What is mapped: against a table of pages that does the same the slow way. */
#include "analyze/mappings.h"

#include "check.h"

#include <time.h>

#define PAGES 200u

static uint64_t state = 88172645463325252u;

static uint64_t chance(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static void thread(struct mappings *m, uint64_t number, uint64_t process)
{
    const struct trace_event ev = {.kind = TRACE_THREAD,
                                   .thread = {.thread = number, .process = process}};

    mappings_take(m, &ev);
}

static void map(struct mappings *m, uint64_t number, uint64_t address, uint64_t bytes,
                uint64_t sort)
{
    const struct trace_event ev = {
        .kind = TRACE_MMAP,
        .mmap = {.thread = number, .address = address, .bytes = bytes, .sort = sort}};

    mappings_take(m, &ev);
}

static void unmap(struct mappings *m, uint64_t number, uint64_t address, uint64_t bytes)
{
    const struct trace_event ev = {
        .kind = TRACE_MUNMAP, .munmap = {.thread = number, .address = address, .bytes = bytes}};

    mappings_take(m, &ev);
}

static void partial_unmaps(void)
{
    enum { SORTS = 4 };
    static const enum trace_mmap_sort sorts[SORTS] = {0, TRACE_MMAP_ANONYMOUS, TRACE_MMAP_FILE,
                                                      TRACE_MMAP_ARENA};
    static unsigned char pages[3][PAGES]; /* of each process: 0 none, else its index in sorts */
    struct mappings m = {0};

    thread(&m, 1, 1);
    thread(&m, 7, 2);
    for (int round = 0; round < 20000; round++) {
        uint64_t process = 1 + chance(2), first = chance(PAGES), count = 1 + chance(PAGES - first);
        uint64_t bytes[SORTS] = {0}, number = process == 1 ? 1 : 7;
        unsigned char what = (unsigned char)chance(SORTS);

        if (what)
            map(&m, number, first * 4096, count * 4096, sorts[what]);
        else
            unmap(&m, number, first * 4096, count * 4096);
        memset(&pages[process][first], what, count);
        for (unsigned int i = 0; i < 2 * PAGES; i++)
            bytes[pages[1 + i / PAGES][i % PAGES]] += 4096;
        if (!CHECK_EQ(m.anonymous_bytes, bytes[1]) || !CHECK_EQ(m.file_bytes, bytes[2]) ||
            !CHECK_EQ(m.arena_bytes, bytes[3]))
            break;
    }
    mappings_free(&m);
}

static void odd_records(void)
{
    const struct trace_event ended = {.kind = TRACE_PROCESS_END, .process_end = {.process = 1}};
    struct mappings m = {0};

    map(&m, 1, 4096, 4096, TRACE_MMAP_ANONYMOUS); /* an unknown thread */
    CHECK_EQ(m.anonymous_bytes, 0);
    thread(&m, 1, 1);
    map(&m, 1, 4096, 0, TRACE_MMAP_ANONYMOUS);
    map(&m, 1, UINT64_MAX - 10, UINT64_MAX, TRACE_MMAP_ANONYMOUS);
    CHECK_EQ(m.anonymous_bytes, 10);
    map(&m, 1, 4096, 4096, TRACE_MMAP_BREAK);
    CHECK_EQ(m.anonymous_bytes, 10);
    unmap(&m, 1, 0, UINT64_MAX);
    CHECK_EQ(m.anonymous_bytes, 0);
    map(&m, 1, 4096, 8192, TRACE_MMAP_MOVED);
    mappings_take(&m, &ended);
    CHECK_EQ(m.anonymous_bytes, 0);
    CHECK_EQ(m.count, 0);
    mappings_free(&m);
}

/* A hundred thousand maps, every second one unmapped again: seconds if each were a walk. */
static void many(void)
{
    struct mappings m = {0};
    struct timespec from, to;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    thread(&m, 1, 1);
    for (uint64_t i = 0; i < 100000; i++)
        map(&m, 1, i * 8192, 4096, TRACE_MMAP_ANONYMOUS);
    for (uint64_t i = 0; i < 100000; i += 2)
        unmap(&m, 1, i * 8192, 4096);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    CHECK_EQ(m.anonymous_bytes, 50000 * 4096ull);
    CHECK((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 < 2000);
    mappings_free(&m);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"maps, maps over maps and partial unmaps", partial_unmaps},
        {"records that make no sense", odd_records},
        {"a hundred thousand maps", many},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
