/* make_heap_trace - traces of allocations with numbers that are known: make_heap_trace KIND FILE
 *
 *   exact     one process with two threads, eight seconds; see put_exact
 *   two       two processes whose peaks fall together; see put_two
 *   sampled   sampled blocks; see put_sampled
 *   fates     sampled, where it is known what was freed at once
 *   lost      as exact, with events that were lost
 *   lossy     as exact, with a loss and two processes that could not be recorded
 *   random-N  any record with any number
 *   big-N     N million events
 *
 * tests/unit/test_heap.c and tests/cli/test_heap.py know what is in each.
 */
#include "maker_help.h"
#include "trace/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- code ---- */

enum { APP = 1, LIBC };
enum { MAIN = 1, LOAD, PARSE, XMALLOC, NAMELESS, JIT, CUT };
/* main; main load; main load xmalloc; main parse (with inner inlined); main and libc's; cut, JIT */
enum { S_MAIN = 1, S_LOAD, S_XMALLOC, S_PARSE, S_LIBC, S_CUT, S_JIT };

static void put_name(uint64_t frame, uint64_t depth, const char *function, const char *file,
                     uint64_t line)
{
    PUT(TRACE_NAME, 0, NULL, 0, frame, depth, text(function), text(file), line);
}

static void put_frames(void)
{
    PUT(TRACE_MODULE, 0, NULL, 0, APP, text("/opt/app"), text("abcd"));
    PUT(TRACE_MODULE, 0, NULL, 0, LIBC, text("/lib/libc.so.6"), 0);
    for (uint64_t frame = MAIN; frame <= XMALLOC; frame++)
        PUT(TRACE_FRAME, 0, NULL, 0, frame, TRACE_FRAME_MODULE, APP, 0x100 * frame);
    PUT(TRACE_FRAME, 0, NULL, 0, NAMELESS, TRACE_FRAME_MODULE, LIBC, 0x1234);
    PUT(TRACE_FRAME, 0, NULL, 0, JIT, TRACE_FRAME_ADDRESS | TRACE_FRAME_GUESSED, 1, 0x7f0000);
    PUT(TRACE_FRAME, 0, NULL, 0, CUT, TRACE_FRAME_CUT, 0, 0);
}

static void put_stacks(void)
{
    static const uint64_t stacks[][2] = {{0, MAIN},       {S_MAIN, LOAD},     {S_LOAD, XMALLOC},
                                         {S_MAIN, PARSE}, {S_MAIN, NAMELESS}, {0, CUT}};
    unsigned char tail[256];
    size_t used = 0;

    for (uint64_t i = 0; i < 6; i++)
        used += batch_put_stack(tail + used, i + 1, stacks[i][0], stacks[i][1]);
    PUT(TRACE_STACKS, 0, tail, used, 1, 6);
    PUT(TRACE_STACK, 0, NULL, 0, S_JIT, S_CUT, JIT);
}

static void put_names(void)
{
    put_name(MAIN, 0, "main", "main.c", 10);
    put_name(LOAD, 0, "load", "load.c", 20);
    put_name(PARSE, 1, "parse", "parse.c", 30);
    put_name(PARSE, 0, "inner", "inner.h", 5);
    put_name(XMALLOC, 0, "xmalloc", "util.c", 7);
}

static void put_code(void)
{
    put_frames();
    put_stacks();
    put_names();
}

static void put_process(uint64_t number, uint64_t parent, const char *name)
{
    PUT(TRACE_PROCESS, 1 * MS, NULL, 0, number, parent, 99 + number, number,
        parent ? TRACE_BORN_FORKED : TRACE_BORN_LAUNCHED, text(name), text(name));
    PUT(TRACE_THREAD, 1 * MS, NULL, 0, number * 10, number, 99 + number, text("first"));
}

static void put_infos(uint64_t process, const uint64_t (*infos)[2], uint64_t count)
{
    unsigned char tail[1024];
    size_t used = 0;

    for (uint64_t i = 0; i < count; i++)
        used += batch_put_info(tail + used, infos[i][0], infos[i][1], TRACE_BY_MALLOC,
                               i ? infos[i - 1][1] : 0);
    PUT(TRACE_INFOS, 0, tail, used, process, 1, count);
}

/* ---- events ---- */

static struct batch batch;
static uint64_t batch_process;

static void flush(void)
{
    static unsigned char tail[BATCH_TAIL_MOST];
    size_t used;

    if (batch.events) {
        used = batch_close(&batch, tail);
        PUT(TRACE_BATCH, batch.last_ns, tail, used, batch_process, batch.events,
            batch.last_ns - batch.start_ns);
    }
    batch_reset(&batch, 0);
}

static void at(uint64_t process, uint32_t thread, uint64_t ms)
{
    if (process != batch_process || batch_full(&batch) ||
        (batch.events && ms * MS - batch.start_ns > TRACE_BATCH_SPAN_MOST))
        flush();
    if (!batch.events)
        batch_reset(&batch, ms * MS);
    batch_process = process;
    batch_at(&batch, thread, ms * MS);
}

static void allocs(uint32_t info, int count)
{
    while (count--)
        batch_alloc(&batch, info);
}

static void frees(uint32_t info, int count, unsigned char fate)
{
    while (count--)
        batch_free(&batch, info, fate);
}

/* Peak at 3 s: 3156016 bytes in 18 blocks. Alive at the end: 3288 bytes in 17. The unknown free and
 * the one that is taken back are at 7 s.
 */
static void put_exact(void)
{
    static const uint64_t infos[][2] = {
        {1000, S_XMALLOC}, {64, S_PARSE}, {MIB, S_LOAD}, {100, S_LIBC}, {32, S_JIT}};

    put_code();
    put_process(1, 0, "app");
    PUT(TRACE_THREAD, 1 * MS, NULL, 0, 11, 1, 101, text("second"));
    put_infos(1, infos, 5);
    at(1, 10, 1000);
    allocs(1, 10);
    at(1, 10, 2000);
    for (int i = 0; i < 5; i++) {
        allocs(2, 1);
        frees(2, 1, batch_fate(true, 0, 0));
    }
    allocs(2, 4);
    at(1, 10, 3000);
    allocs(3, 3);
    allocs(5, 1);
    at(1, 11, 3000);
    frees(3, 3, batch_fate(false, 0, 0));
    at(1, 10, 5000);
    frees(1, 1, batch_fate(true, 3, 4000 * MS));
    frees(1, 7, batch_fate(true, 100, 4000 * MS));
    at(1, 11, 6000);
    allocs(4, 7);
    at(1, 10, 7000);
    frees(1, 1, batch_fate(true, 0, 0));
    batch_unfree(&batch, 1);
    frees(0, 1, 0xff);
    at(1, 11, 7500);
    allocs(4, 3);
    flush();
    PUT(TRACE_THREAD_END, 7600 * MS, NULL, 0, 11);
    PUT(TRACE_PROCESS_END, 8000 * MS, NULL, 0, 1, TRACE_END_EXITED, 0);
}

/* The first holds 300 from 2.5 s on, the second 2000 from 2 s on and 5000 more for an instant at 3
 * s: together 7300. The first's own peak is 1000, at 1 s.
 */
static void put_two(void)
{
    static const uint64_t first[][2] = {{1000, S_LOAD}, {300, S_PARSE}};
    static const uint64_t second[][2] = {{500, S_LOAD}, {1500, S_PARSE}, {5000, S_LIBC}};

    put_code();
    put_process(1, 0, "parent");
    put_process(2, 1, "child");
    put_infos(1, first, 2);
    put_infos(2, second, 3);
    at(2, 20, 500);
    allocs(1, 1);
    at(1, 10, 1000);
    allocs(1, 1);
    at(1, 10, 1500);
    frees(1, 1, batch_fate(true, 0, 500 * MS));
    at(2, 20, 2000);
    allocs(2, 1);
    at(2, 20, 3000);
    allocs(3, 1);
    frees(3, 1, batch_fate(true, 0, 0));
    at(1, 10, 2500); /* later in the file than the other's batch of 3 s */
    allocs(2, 1);
    at(2, 20, 4000);
    frees(2, 1, batch_fate(true, 1, 2000 * MS));
    flush();
    PUT(TRACE_PROCESS_END, 4000 * MS, NULL, 0, 2, TRACE_END_EXITED, 0);
    PUT(TRACE_PROCESS_END, 4000 * MS, NULL, 0, 1, TRACE_END_EXITED, 0);
}

/* Two blocks of 1000 bytes that stand for five each, one of 1 MiB that stands for itself. The first
 * is freed after 2 s. Variance of each small one: 5 * 4 * 1000^2.
 */
static void put_sampled(void)
{
    put_code();
    trace_store_fact(store, TRACE_OF_RUN, 0, FACT_PROGRAMS_STARTED, "1", 1);
    trace_store_fact(store, TRACE_OF_RUN, 0, FACT_PROGRAMS_REACHED, "1", 1);
    put_process(1, 0, "app");
    PUT(TRACE_ALLOC, 1000 * MS, NULL, 0, 10, 0x1000, 1000, S_XMALLOC, TRACE_BY_MALLOC, 5000);
    PUT(TRACE_ALLOC, 2000 * MS, NULL, 0, 10, 0x2000, 1000, S_XMALLOC, TRACE_BY_MALLOC, 5000);
    PUT(TRACE_ALLOC, 2500 * MS, NULL, 0, 10, 0x3000, MIB, S_LOAD, TRACE_BY_MALLOC, 1000);
    PUT(TRACE_FREE, 3000 * MS, NULL, 0, 10, 0x1000, 0);
    PUT(TRACE_FREE, 3000 * MS, NULL, 0, 10, 0x9999, 0);
    PUT(TRACE_PROCESS_END, 4000 * MS, NULL, 0, 1, TRACE_END_EXITED, 0);
}

/* Three samples that stand for four blocks each; the first was freed at once, the second later. */
static void put_fates(void)
{
    put_code();
    put_process(1, 0, "app");
    PUT(TRACE_ALLOC, 1000 * MS, NULL, 0, 10, 0x1000, 100, S_PARSE, TRACE_BY_MALLOC, 4000);
    PUT(TRACE_FREE, 1000 * MS, NULL, 0, 10, 0x1000, 0, 0);
    PUT(TRACE_ALLOC, 2000 * MS, NULL, 0, 10, 0x2000, 100, S_PARSE, TRACE_BY_MALLOC, 4000);
    PUT(TRACE_FREE, 3000 * MS, NULL, 0, 10, 0x2000, 0, TRACE_LATER_MANY);
    PUT(TRACE_ALLOC, 3000 * MS, NULL, 0, 10, 0x3000, 100, S_LOAD, TRACE_BY_MALLOC, 4000);
    PUT(TRACE_PROCESS_END, 4000 * MS, NULL, 0, 1, TRACE_END_EXITED, 0);
}

static void put_lost(void)
{
    put_exact();
    PUT(TRACE_LOSS, 4000 * MS, "a buffer was full", 17, 1, TRACE_LOST_FULL, 12, 4096);
}

static void put_lossy(void)
{
    static const char reason[] = "it is statically linked";

    put_exact();
    trace_store_fact(store, TRACE_OF_RUN, 0, FACT_PROGRAMS_STARTED, "7", 1);
    trace_store_fact(store, TRACE_OF_RUN, 0, FACT_PROGRAMS_REACHED, "1", 1);
    PUT(TRACE_LOSS, 4000 * MS, "a buffer was full", 17, 1, TRACE_LOST_FULL, 12, 4096);
    PUT(TRACE_LOSS, 4000 * MS, reason, sizeof(reason) - 1, 0, TRACE_LOST_PROGRAMS, 4);
    for (uint64_t i = 7; i < 9; i++) {
        trace_store_fact(store, TRACE_OF_PROCESS, i, "unrecorded", reason, strlen(reason));
        PUT(TRACE_PROCESS, 5000 * MS, NULL, 0, i, 1, 99 + i, i, TRACE_BORN_FORKED, text("ldconfig"),
            0);
    }
}

/* ---- nonsense ---- */

static void put_any(uint64_t time_ns)
{
    static const enum trace_kind kinds[] = {
        TRACE_STRING,     TRACE_FRAME, TRACE_NAME,       TRACE_STACK, TRACE_STACKS,
        TRACE_MODULE,     TRACE_INFOS, TRACE_BATCH,      TRACE_BATCH, TRACE_ALLOC,
        TRACE_ALLOC,      TRACE_FREE,  TRACE_THREAD,     TRACE_FACT,  TRACE_PROCESS,
        TRACE_THREAD_END, TRACE_MMAP,  TRACE_PROCESS_END};
    enum trace_kind kind = kinds[random() % (long)(sizeof(kinds) / sizeof(kinds[0]))];
    const struct trace_shape *shape = trace_shape_of(kind);
    uint64_t fields[TRACE_FIELDS_MOST];
    unsigned char tail[64];
    size_t size = (size_t)(random() % 64);

    for (int i = 0; i < shape->fields; i++)
        fields[i] = any_below(9);
    for (size_t i = 0; i < size; i++)
        tail[i] = (unsigned char)(random() % 5 ? random() % 12 : random());
    trace_store_put(store, kind, time_ns, fields, shape->fields, tail,
                    shape->tail == TRACE_TAIL_NONE ? 0 : size);
}

static void put_random(long seed)
{
    srandom((unsigned int)seed);
    put_exact();
    for (long i = 0, n = 100 + random() % 3000; i < n; i++)
        put_any(random() % 50 ? (uint64_t)i * MS : any_below(9));
}

/* Pairs over 4096 infos, a ring of 1000 blocks alive. */
static void put_big(long millions)
{
    static uint64_t infos[4096][2];
    unsigned char tail[65536];
    size_t used = 0;

    put_code();
    put_process(1, 0, "big");
    for (uint64_t i = 0; i < 4096; i++) {
        infos[i][0] = 16 + i;
        infos[i][1] = 1 + i % 5;
        used += batch_put_info(tail + used, infos[i][0], infos[i][1], 0, i ? infos[i - 1][1] : 0);
    }
    PUT(TRACE_INFOS, 0, tail, used, 1, 1, 4096);
    for (long i = 0; i < millions * 500000; i++) {
        if (i % 1000 == 0)
            at(1, 10, (uint64_t)i / 1000);
        allocs((uint32_t)(i * 2654435761u >> 7) % 4096 + 1, 1);
        if (i >= 1000)
            frees((uint32_t)((i - 1000) * 2654435761u >> 7) % 4096 + 1, 1, 0x0f);
    }
    flush();
}

int main(int argc, char **argv)
{
    const char *kind = argc == 3 ? argv[1] : "", *number = strchr(kind, '-');
    struct err err = {0};

    store = argc == 3 ? trace_store_create(argv[2], &err) : NULL;
    if (!store) {
        fprintf(stderr, "make_heap_trace: %s\n", err.text[0] ? err.text : "KIND FILE");
        return 1;
    }
    if (strcmp(kind, "exact") == 0)
        put_exact();
    else if (strcmp(kind, "two") == 0)
        put_two();
    else if (strcmp(kind, "sampled") == 0)
        put_sampled();
    else if (strcmp(kind, "fates") == 0)
        put_fates();
    else if (strcmp(kind, "lost") == 0)
        put_lost();
    else if (strcmp(kind, "lossy") == 0)
        put_lossy();
    else if (number && strncmp(kind, "random", 6) == 0)
        put_random(atol(number + 1));
    else if (number && strncmp(kind, "big", 3) == 0)
        put_big(atol(number + 1));
    return trace_store_close(store, &err) ? 1 : 0;
}
