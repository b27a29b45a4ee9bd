/* make_alloc_trace - write a trace of allocations whose contents are known: make_alloc_trace FILE
 * old|new. The two are one program before and after a change: its file, its addresses and the
 * version of its library differ, and so does what it allocates. Six seconds, a chunk of events for
 * each.
 *
 *   stack              bytes   old: at 0.5 s ...                new
 *   main load           1000   10 allocated, freed at 4.5 s     5, the same
 *   main load inflate  1 MiB   2 at 1.5 s, freed at 3.5 s       3, the same
 *   main parse            64   100 at 2.5 s, 90 freed at 3.5 s  100, none freed
 *   main load (libz)     100   5 at 4.5 s, never freed          5, the same
 *
 * The thread made 5 allocations between each of main parse and its free, of the others more
 * than 15.
 */
#include "maker_help.h"
#include "trace/batch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool newer;

enum { PROGRAM = 1, LIBRARY };
enum { MAIN = 1, LOAD, PARSE, INFLATE, NAMELESS };

static void put_frame(uint64_t frame, uint64_t module, const char *name, const char *file,
                      uint64_t line)
{
    PUT(TRACE_FRAME, 0, NULL, 0, frame, TRACE_FRAME_MODULE, module,
        frame * 0x100 + (newer ? 0x5000 : 0x1000));
    if (name)
        PUT(TRACE_NAME, 0, NULL, 0, frame, 0, text(name), text(file), line + newer);
}

static void put_code(void)
{
    unsigned char tail[256];
    size_t used = 0;

    PUT(TRACE_MODULE, 0, NULL, 0, PROGRAM, text(newer ? "/opt/new/app-2" : "/opt/old/app-1"), 0);
    PUT(TRACE_MODULE, 0, NULL, 0, LIBRARY,
        text(newer ? "/usr/lib/libz.so.1.3" : "/usr/lib/libz.so.1.2"), 0);
    put_frame(MAIN, PROGRAM, "main", "main.c", 10);
    put_frame(LOAD, PROGRAM, "load", "load.c", 20);
    put_frame(PARSE, PROGRAM, newer ? "parse.constprop.0" : "parse", "parse.c", 30);
    put_frame(INFLATE, LIBRARY, "inflate", "inflate.c", 40);
    put_frame(NAMELESS, LIBRARY, NULL, NULL, 0);
    used += batch_put_stack(tail + used, 1, 0, MAIN);
    used += batch_put_stack(tail + used, 2, 1, LOAD);
    used += batch_put_stack(tail + used, 3, 1, PARSE);
    used += batch_put_stack(tail + used, 4, 2, INFLATE);
    used += batch_put_stack(tail + used, 5, 2, NAMELESS);
    PUT(TRACE_STACKS, 0, tail, used, 1, 5);
    used = batch_put_info(tail, 1000, 2, TRACE_BY_MALLOC, 0);
    used += batch_put_info(tail + used, 64, 3, TRACE_BY_MALLOC, 2);
    used += batch_put_info(tail + used, 1u << 20, 4, TRACE_BY_CALLOC, 3);
    used += batch_put_info(tail + used, 100, 5, TRACE_BY_MALLOC, 4);
    PUT(TRACE_INFOS, 0, tail, used, 1, 1, 4);
}

/* `allocs` blocks of one info, then `frees` of another, in one batch. */
static void put_batch(uint64_t time_ms, uint32_t info, int allocs, uint32_t freed, int frees)
{
    static struct batch b;
    static unsigned char tail[BATCH_TAIL_MOST];

    batch_reset(&b, time_ms * MS);
    batch_at(&b, 1, time_ms * MS);
    for (int i = 0; i < allocs; i++)
        batch_alloc(&b, info);
    for (int i = 0; i < frees; i++)
        batch_free(&b, freed, batch_fate(true, freed == 2 ? 5 : 20, 2000 * MS));
    PUT(TRACE_BATCH, time_ms * MS, tail, batch_close(&b, tail), 1, b.events, 0);
}

static void put_sample(uint64_t time_ms, uint64_t anonymous)
{
    const struct trace_pair pairs[] = {{METRIC_RSS, anonymous + (3u << 20) + 8192},
                                       {METRIC_RSS_ANON, anonymous},
                                       {METRIC_RSS_FILE, 3u << 20},
                                       {METRIC_RSS_SHMEM, 8192},
                                       {METRIC_THREADS, 1}};

    PUT(TRACE_SAMPLE, time_ms * MS, pairs, 5, TRACE_OF_PROCESS, 1);
    PUT(TRACE_SAMPLE, time_ms * MS, pairs, 1, TRACE_OF_RUN, 0);
}

static void put_events(void)
{
    uint64_t name = text("app");

    PUT(TRACE_PROCESS, 1 * MS, NULL, 0, 1, 0, 4711, 88, TRACE_BORN_LAUNCHED, name, name);
    PUT(TRACE_THREAD, 2 * MS, NULL, 0, 1, 1, 4711, name);
    put_batch(500, 1, newer ? 5 : 10, 0, 0);
    put_sample(700, 100000);
    trace_store_flush(store);
    PUT(TRACE_MMAP, 1100 * MS, NULL, 0, 1, 0x7f0000000000, 16 * 4096, 1, 3, TRACE_MMAP_ANONYMOUS);
    put_batch(1500, 3, newer ? 3 : 2, 0, 0);
    put_sample(1700, 1000000); /* less than the heap: not all of it was touched */
    trace_store_flush(store);
    PUT(TRACE_MUNMAP, 2100 * MS, NULL, 0, 1, 0x7f0000004000, 4096);
    put_batch(2500, 2, 100, 0, 0);
    put_sample(2700, 5000000);
    trace_store_flush(store);
    put_batch(3500, 0, 0, 3, newer ? 3 : 2);
    put_batch(3600, 0, 0, 2, newer ? 0 : 90);
    put_sample(3700, 4000000);
    trace_store_flush(store);
    put_batch(4500, 4, 5, 1, newer ? 5 : 10);
    put_sample(4700, 300000);
    trace_store_flush(store);
    put_sample(5700, 200000);
    PUT(TRACE_PROCESS_END, 5900 * MS, NULL, 0, 1, TRACE_END_EXITED, 0);
    PUT(TRACE_MARK, 6000 * MS, NULL, 0, 1, 0, 0, 0);
    trace_store_flush(store);
}

int main(int argc, char **argv)
{
    struct err err = {0};

    if (argc != 3) {
        fputs("usage: make_alloc_trace FILE old|new\n", stderr);
        return 2;
    }
    newer = strcmp(argv[2], "new") == 0;
    store = trace_store_create(argv[1], &err);
    if (store) {
        put_code();
        put_events();
    }
    if (!store || trace_store_close(store, &err) < 0) {
        fprintf(stderr, "make_alloc_trace: %s\n", err.text);
        return 1;
    }
    return 0;
}
