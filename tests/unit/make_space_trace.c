/* make_space_trace - write a trace of memory in several spaces whose contents are known:
 * make_space_trace FILE. One process with two threads, six seconds; sampled, so that what is exact
 * shows itself.
 *
 *   space        stack          what
 *   host         main load      a sampled block of 1000 bytes that stands for 10, from 0.5 s on
 *   gpu:0        main load      8 MiB from 1 s to 4 s
 *   gpu:0        main train     2 MiB from 2 s on, never freed; 1 MiB from 2.5 s to 2.6 s, at once
 *   gpu:1        main train     3 MiB from 2 s to 5 s, freed by the other thread
 *   gpu-host     main load      4 MiB from 1 s to 3 s
 *   gpu:0        main train     64 GiB asked for in vain at 3 s, and 32 GiB at 3.5 s
 */
#include "trace/batch.h"
#include "trace/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
#define MIB (1ull << 20)

static struct trace_store *store;

#define PUT(kind, time_ms, ...)                                                                    \
    trace_store_put(store, kind, (time_ms)*MS, (const uint64_t[]){__VA_ARGS__},                    \
                    sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), NULL, 0)

static uint64_t text(const char *t)
{
    return trace_store_string(store, t, strlen(t));
}

enum { MAIN = 1, LOAD, TRAIN };
enum { GPU0 = 1, GPU1, PINNED };

static void put_code(void)
{
    static const char *const names[] = {[MAIN] = "main", [LOAD] = "load", [TRAIN] = "train"};

    PUT(TRACE_MODULE, 0, 1, text("/opt/app"), 0);
    for (uint64_t i = MAIN; i <= TRAIN; i++) {
        PUT(TRACE_FRAME, 0, i, TRACE_FRAME_MODULE, 1, i * 0x100);
        PUT(TRACE_NAME, 0, i, 0, text(names[i]), text("app.c"), i * 10);
        PUT(TRACE_STACK, 0, i, i == MAIN ? 0 : MAIN, i);
    }
    PUT(TRACE_SPACE, 0, GPU0, text("gpu:0"), TRACE_SPACE_DEVICE);
    PUT(TRACE_SPACE, 0, GPU1, text("gpu:1"), TRACE_SPACE_DEVICE);
    PUT(TRACE_SPACE, 0, PINNED, text("gpu-host"), TRACE_SPACE_PINNED);
}

static void put_events(uint64_t call)
{
    PUT(TRACE_ALLOC, 500, 1, 0x5000, 1000, LOAD, TRACE_BY_MALLOC, 10000, 0);
    PUT(TRACE_SPACE_ALLOC, 1000, 1, 1, 8 * MIB, LOAD, GPU0, call, 0, 0x7000);
    PUT(TRACE_SPACE_ALLOC, 1000, 1, 2, 4 * MIB, LOAD, PINNED, call, 0, 0x7000);
    PUT(TRACE_SPACE_ALLOC, 2000, 1, 3, 2 * MIB, TRAIN, GPU0, call, 0, 0x8000);
    PUT(TRACE_SPACE_ALLOC, 2000, 1, 4, 3 * MIB, TRAIN, GPU1, call, 0, 0x8000);
    PUT(TRACE_SPACE_ALLOC, 2500, 1, 5, 1 * MIB, TRAIN, GPU0, call, 0, 0x9000);
    PUT(TRACE_SPACE_FREE, 2600, 1, 5, GPU0, 0);
    PUT(TRACE_SPACE_FREE, 3000, 1, 2, PINNED, 3);
    PUT(TRACE_SPACE_FAILED, 3000, 1, 65536 * MIB, TRAIN, GPU0, call, 2);
    PUT(TRACE_SPACE_FAILED, 3500, 1, 32768 * MIB, TRAIN, GPU0, call, 2);
    PUT(TRACE_SPACE_FREE, 4000, 1, 1, GPU0, 4);
    PUT(TRACE_SPACE_FREE, 5000, 2, 4, GPU1, TRACE_LATER_MANY);
    PUT(TRACE_LAUNCHES, 5500, 1, TRAIN, text("square"), 100);
    PUT(TRACE_LAUNCHES, 5600, 1, TRAIN, text("square"), 23);
}

int main(int argc, char **argv)
{
    struct err err;

    if (argc != 2 || !(store = trace_store_create(argv[1], &err)))
        return 1;
    trace_store_fact(store, TRACE_OF_RUN, 0, FACT_RECORDED, "sampled", 7);
    put_code();
    PUT(TRACE_PROCESS, 0, 1, 0, 4711, 88, TRACE_BORN_LAUNCHED, text("app"), text("/opt/app"));
    PUT(TRACE_THREAD, 0, 1, 1, 4711, text("app"));
    PUT(TRACE_THREAD, 0, 2, 1, 4712, text("app"));
    put_events(text("gpuAlloc"));
    PUT(TRACE_PROCESS_END, 6000, 1, TRACE_END_EXITED, 0);
    return trace_store_close(store, &err) < 0;
}
