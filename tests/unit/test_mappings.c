/* What is mapped: against a table of pages that does the same the slow way, and what counts of it.
 */
#include "trace/mappings.h"

#include "check.h"

#include <time.h>

#define PAGES 200u
#define PAGE 4096u

static uint64_t state = 88172645463325252u;

static uint64_t chance(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static uint64_t now; /* of the records */
static int64_t counted, blocks;
static int64_t by_stack[9];

static void take_change(void *context, const struct mapping_change *c)
{
    int64_t sign = c->ended ? -1 : 1;

    (void)context;
    counted += sign * (int64_t)c->bytes;
    blocks += sign * (int64_t)c->milliblocks;
    by_stack[c->mapping->stack % 9] += sign * (int64_t)c->bytes;
}

static void start(struct mappings *m)
{
    *m = (struct mappings){.change = take_change};
    counted = blocks = 0;
    now = 0;
    memset(by_stack, 0, sizeof(by_stack));
}

static void put(struct mappings *m, uint64_t process, struct trace_mmap r)
{
    r.thread = r.thread ? r.thread : process;
    mappings_map(m, process, now, &r);
}

static void map(struct mappings *m, uint64_t process, uint64_t address, uint64_t bytes,
                uint64_t kind)
{
    put(m, process,
        (struct trace_mmap){
            .address = address, .bytes = bytes, .protection = 3, .stack = 1, .mmap_kind = kind});
}

static void unmap(struct mappings *m, uint64_t process, uint64_t address, uint64_t bytes)
{
    const struct trace_munmap r = {process, address, bytes};

    mappings_unmap(m, process, now, &r);
}

static void protect(struct mappings *m, uint64_t process, uint64_t address, uint64_t bytes,
                    uint64_t protection, uint64_t stack)
{
    put(m, process,
        (struct trace_mmap){.address = address,
                            .bytes = bytes,
                            .protection = protection,
                            .stack = stack,
                            .mmap_kind = TRACE_MMAP_PROTECTED});
}

/* Pages: 0 none, else its index in kinds; 16: nobody may touch it. */
static void any_parts_go_and_come(void)
{
    enum { KINDS = 4, CLOSED = 16 };
    static const enum trace_mmap_kind kinds[KINDS] = {0, TRACE_MMAP_ANONYMOUS, TRACE_MMAP_FILE,
                                                      TRACE_MMAP_ARENA};
    static unsigned char pages[3][PAGES];
    struct mappings m;

    start(&m);
    for (int round = 0; round < 20000; round++) {
        uint64_t process = 1 + chance(2), first = chance(PAGES), count = 1 + chance(PAGES - first);
        uint64_t bytes[CLOSED + KINDS] = {0}, closed = 0;
        unsigned char what = (unsigned char)chance(KINDS + 2);

        now++;
        for (uint64_t i = first; i < first + count && what >= KINDS; i++)
            pages[process][i] = pages[process][i] ? (pages[process][i] & (CLOSED - 1)) |
                                                        (what == KINDS ? CLOSED : 0)
                                                  : 0;
        if (what >= KINDS)
            protect(&m, process, first * PAGE, count * PAGE, what == KINDS ? 0 : 3, 1);
        else if (what)
            map(&m, process, first * PAGE, count * PAGE, kinds[what]);
        else
            unmap(&m, process, first * PAGE, count * PAGE);
        if (what < KINDS)
            memset(&pages[process][first], what, count);
        for (unsigned int i = 0; i < 2 * PAGES; i++)
            bytes[pages[1 + i / PAGES][i % PAGES]] += PAGE;
        for (int i = CLOSED; i < CLOSED + KINDS; i++)
            closed += bytes[i];
        if (!CHECK_EQ(m.bytes[TRACE_MMAP_ANONYMOUS], bytes[1]) ||
            !CHECK_EQ(m.bytes[TRACE_MMAP_FILE], bytes[2]) ||
            !CHECK_EQ(m.bytes[TRACE_MMAP_ARENA], bytes[3]) || !CHECK_EQ(m.closed_bytes, closed) ||
            !CHECK_EQ((uint64_t)counted, bytes[1]))
            break;
    }
    unmap(&m, 1, 0, PAGES * PAGE);
    unmap(&m, 2, 0, PAGES * PAGE);
    CHECK_EQ(counted, 0);
    CHECK_EQ(blocks, 0);
    mappings_free(&m);
}

static void odd_records(void)
{
    struct mappings m;

    start(&m);
    map(&m, 1, 4096, 0, TRACE_MMAP_ANONYMOUS);
    map(&m, 1, UINT64_MAX - 10, UINT64_MAX, TRACE_MMAP_ANONYMOUS);
    CHECK_EQ(counted, 10);
    map(&m, 1, 4096, 4096, TRACE_MMAP_BREAK);
    map(&m, 1, 4096, 4096, TRACE_MMAP_KINDS);
    map(&m, 1, 4096, 4096, UINT64_MAX);
    CHECK_EQ(counted, 10);
    unmap(&m, 1, 0, UINT64_MAX);
    CHECK_EQ(counted, 0);
    map(&m, 1, 4096, 8192, TRACE_MMAP_MOVED); /* of what was there before the recording */
    CHECK_EQ(counted, 8192);
    mappings_end(&m, 1, 0); /* it is alive at the end: no change */
    CHECK_EQ(counted, 8192);
    CHECK_EQ(m.bytes[TRACE_MMAP_ANONYMOUS], 0);
    unmap(&m, 1, 8192, 4096); /* that was read late */
    CHECK_EQ(counted, 4096);
    CHECK_EQ(m.bytes[TRACE_MMAP_ANONYMOUS], 0);
    mappings_end(&m, 1, 0);
    CHECK_EQ(counted, 4096);
    mappings_free(&m);
}

static void what_is_moved_stays_what_it_was(void)
{
    struct mappings m;

    start(&m);
    map(&m, 1, 0x10000, 0x4000, TRACE_MMAP_FILE);
    unmap(&m, 1, 0x10000, 0x4000);
    put(&m, 1,
        (struct trace_mmap){
            .address = 0x20000, .bytes = 0x8000, .stack = 2, .mmap_kind = TRACE_MMAP_MOVED});
    CHECK_EQ(m.bytes[TRACE_MMAP_FILE], 0x8000);
    CHECK_EQ(counted, 0);
    map(&m, 1, 0x40000, 0x4000, TRACE_MMAP_ANONYMOUS);
    unmap(&m, 1, 0x40000, 0x4000);
    put(&m, 1,
        (struct trace_mmap){
            .address = 0x50000, .bytes = 0x9000, .stack = 2, .mmap_kind = TRACE_MMAP_MOVED});
    CHECK_EQ(by_stack[1], 0);
    CHECK_EQ(by_stack[2], 0x9000); /* who let it grow has it */
    unmap(&m, 1, 0x50000, 0x9000);
    put(&m, 1,
        (struct trace_mmap){.address = 0x50000,
                            .bytes = 0x9000,
                            .mmap_kind = TRACE_MMAP_MOVED}); /* the unmap had failed */
    CHECK_EQ(by_stack[2], 0x9000);
    mappings_free(&m);
}

static void who_opens_memory_has_taken_it(void)
{
    struct mappings m;

    start(&m);
    put(&m, 1,
        (struct trace_mmap){
            .address = 0x100000, .bytes = 0x100000, .stack = 1, .mmap_kind = TRACE_MMAP_RESERVED});
    CHECK_EQ(counted, 0);
    protect(&m, 1, 0x110000, 0x8000, 3, 2);
    CHECK_EQ(counted, 0x8000);
    CHECK_EQ(by_stack[2], 0x8000);
    protect(&m, 1, 0x114000, 0x2000, 1, 3); /* it was open: only less may be done with it */
    CHECK_EQ(by_stack[2], 0x8000);
    protect(&m, 1, 0x110000, 0x4000, 0, 3);
    CHECK_EQ(counted, 0x4000);
    unmap(&m, 1, 0, UINT64_MAX);
    CHECK_EQ(counted, 0);
    CHECK_EQ(blocks, 0);
    mappings_free(&m);
}

static void look(struct mappings *m, uint64_t process, uint64_t address, uint64_t bytes,
                 uint64_t resident)
{
    const struct trace_resident r = {
        .process = process, .address = address, .bytes = bytes, .resident = resident};

    mappings_looked(m, now, &r);
}

static void a_reservation_counts_by_what_is_resident(void)
{
    struct mappings m;

    start(&m);
    map(&m, 1, 0x100000, 0x100000, TRACE_MMAP_RESERVED);
    map(&m, 1, 0x300000, 0x1000, TRACE_MMAP_ANONYMOUS);
    CHECK_EQ(counted, 0x1000);
    look(&m, 1, 0x100000, 0x100000, 0x3000);
    look(&m, 1, 0x300000, 0x1000, 0); /* what was asked for counts, touched or not */
    CHECK_EQ(counted, 0x4000);
    CHECK_EQ(blocks, 2000);
    look(&m, 1, 0x100000, 0x100000, UINT64_MAX);
    CHECK_EQ(counted, 0x101000);
    CHECK_EQ(blocks, 2000);
    look(&m, 1, 0x100000, 0x80000, 0x1000); /* another mapping than there is */
    look(&m, 2, 0x100000, 0x100000, 0x1000);
    CHECK_EQ(counted, 0x101000);
    unmap(&m, 1, 0x100000, 0x80000); /* nobody knows which pages: in proportion */
    CHECK_EQ(counted, 0x81000);
    unmap(&m, 1, 0x180000, 0x80000);
    CHECK_EQ(counted, 0x1000);
    CHECK_EQ(blocks, 1000);
    mappings_free(&m);
}

static void share(struct mappings *m, uint64_t process, uint64_t address, uint64_t object)
{
    put(m, process,
        (struct trace_mmap){.address = address,
                            .bytes = 0x10000,
                            .protection = 3,
                            .stack = process,
                            .mmap_kind = TRACE_MMAP_SHARED,
                            .object = object});
}

static void an_object_counts_once(void)
{
    struct mappings m;

    start(&m);
    share(&m, 1, 0x10000, 77);
    share(&m, 2, 0x50000, 77);
    share(&m, 1, 0x90000, 77);
    share(&m, 3, 0x10000, 78);
    CHECK_EQ(counted, 0x20000);
    CHECK_EQ(by_stack[1], 0x10000);
    unmap(&m, 1, 0x12000, 0x1000); /* a part of it: the rest goes on */
    CHECK_EQ(counted, 0x1f000);
    CHECK_EQ(by_stack[2], 0);
    unmap(&m, 1, 0, UINT64_MAX); /* another that has it mapped has it now */
    CHECK_EQ(by_stack[1], 0);
    CHECK_EQ(by_stack[2], 0x10000);
    mappings_end(&m, 2, 0); /* alive at its end, and nobody else has it */
    CHECK_EQ(by_stack[2], 0x10000);
    share(&m, 4, 0x50000, 77);
    CHECK_EQ(by_stack[4], 0x10000);
    share(&m, 6, 0x50000, 77);
    mappings_end(&m, 4, 0);
    CHECK_EQ(by_stack[6], 0x10000);
    unmap(&m, 4, 0x50000, 0x10000);
    CHECK_EQ(by_stack[4], 0);
    CHECK_EQ(by_stack[6], 0x10000);
    put(&m, 5,
        (struct trace_mmap){.address = 0x1000,
                            .bytes = 0x1000,
                            .protection = 3,
                            .stack = 5,
                            .mmap_kind = TRACE_MMAP_SHARED});
    CHECK_EQ(by_stack[5], 0x1000); /* anonymous: nobody else can map it */
    share(&m, 7, 0x10000, 79);
    share(&m, 7, 0x90000, 79);
    share(&m, 8, 0x10000, 79);
    mappings_end(&m, 7, 0); /* with both of its mappings at once */
    CHECK_EQ(by_stack[7], 0x10000);
    CHECK_EQ(by_stack[8], 0x10000);
    mappings_free(&m);
}

/* Records of several threads are read in any order; their times say what was first. */
static void late_records(void)
{
    const struct trace_munmap old = {.thread = 8, .address = 0x10000, .bytes = 0x4000};
    struct mappings m;

    start(&m);
    now = 20;
    map(&m, 1, 0x10000, 0x4000, TRACE_MMAP_ANONYMOUS);
    mappings_unmap(&m, 1, 10, &old); /* of what was there before */
    CHECK_EQ(counted, 0x4000);
    now = 15;
    put(&m, 1,
        (struct trace_mmap){.thread = 9,
                            .address = 0xf000,
                            .bytes = 0x6000,
                            .protection = 3,
                            .mmap_kind = TRACE_MMAP_ANONYMOUS});
    CHECK_EQ(counted, 0x6000); /* the younger one stays */
    CHECK_EQ(by_stack[1], 0x4000);
    mappings_unmap(&m, 1, 30, &old);
    CHECK_EQ(by_stack[1], 0);
    now = 25; /* it was mapped before that unmap, by another thread */
    map(&m, 1, 0x11000, 0x1000, TRACE_MMAP_ANONYMOUS);
    CHECK_EQ(by_stack[1], 0);
    now = 35;
    map(&m, 1, 0x11000, 0x1000, TRACE_MMAP_ANONYMOUS);
    CHECK_EQ(by_stack[1], 0x1000);
    mappings_free(&m);
}

/* A hundred thousand maps, every second one unmapped again, and records that change nothing:
 * seconds if each were a walk over all of them.
 */
static void many(void)
{
    const struct trace_munmap all = {1, 0, UINT64_MAX};
    struct timespec from, to;
    struct mappings m;

    start(&m);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    now = 1;
    for (uint64_t i = 0; i < 100000; i++)
        map(&m, 1, i * 8192, 4096, TRACE_MMAP_ANONYMOUS);
    for (uint64_t i = 0; i < 100000; i += 2)
        unmap(&m, 1, i * 8192, 4096);
    for (int i = 0; i < 100000; i++)
        mappings_unmap(&m, 1, 0, &all);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    CHECK_EQ((uint64_t)counted, 50000 * 4096ull);
    CHECK(m.left_out > 0);
    CHECK(to.tv_sec - from.tv_sec < 20);
    mappings_free(&m);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"any part of a mapping goes, comes and is closed", any_parts_go_and_come},
        {"records that make no sense", odd_records},
        {"what is moved stays what it was", what_is_moved_stays_what_it_was},
        {"who opens memory has taken it", who_opens_memory_has_taken_it},
        {"a reservation counts by what is resident", a_reservation_counts_by_what_is_resident},
        {"an object that is mapped twice counts once", an_object_counts_once},
        {"records that come late", late_records},
        {"a hundred thousand maps", many},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
