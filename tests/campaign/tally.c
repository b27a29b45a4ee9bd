/* tally - what a trace has of the blocks of truth.h, as one object of JSON: tally TRACE.
 *
 * allocs, frees and bytes are what an exact recording has event by event; sampled_bytes is the
 * estimate of a sampled one. It also names the programs that the trace knows, each once.
 */
#include "truth.h"

#include "base/intmap.h"
#include "trace/batch.h"
#include "trace/read.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MOST 64

static uint64_t allocs, frees, bytes, processes;
static double sampled_bytes, sampled_blocks;
static struct intmap sizes; /* process << 32 | info -> bytes */
static uint64_t names[NAMES_MOST];
static unsigned int name_count;
static struct intmap texts; /* string -> where its text begins in `pool` */
static char pool[1u << 20];
static size_t pool_used;

static bool ours(uint64_t size)
{
    return size >= TRUTH_LEAST && size <= TRUTH_MOST;
}

static void take_infos(const struct trace_event *ev)
{
    const unsigned char *tail = ev->tail;
    size_t left = ev->tail_bytes;
    struct batch_info info = {.info = ev->infos.first - 1};

    while (batch_next_info(&tail, &left, &info))
        intmap_put(&sizes, ev->infos.process << 32 | info.info, info.bytes);
}

static void take_batch(const struct trace_event *ev)
{
    struct batch_reader reader;
    struct batch_event e;
    uint64_t size;

    if (batch_open(&reader, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0)
        return;
    while (batch_next(&reader, &e) > 0) {
        if (!intmap_get(&sizes, ev->batch.process << 32 | e.info, &size) || !ours(size))
            continue;
        allocs += e.op == BATCH_ALLOC;
        bytes += e.op == BATCH_ALLOC ? size : 0;
        frees += e.op == BATCH_FREE;
        frees -= e.op == BATCH_UNFREE;
    }
}

static void take_string(const struct trace_event *ev)
{
    if (ev->tail_bytes >= sizeof(pool) - pool_used)
        return;
    intmap_put(&texts, ev->string.string, pool_used);
    memcpy(pool + pool_used, ev->tail, ev->tail_bytes);
    pool_used += ev->tail_bytes + 1;
}

static void take_process(const struct trace_event *ev)
{
    processes++;
    for (unsigned int i = 0; i < name_count; i++)
        if (names[i] == ev->process.name)
            return;
    if (name_count < NAMES_MOST)
        names[name_count++] = ev->process.name;
}

static void take(const struct trace_event *ev)
{
    if (ev->kind == TRACE_STRING)
        take_string(ev);
    else if (ev->kind == TRACE_PROCESS)
        take_process(ev);
    else if (ev->kind == TRACE_INFOS)
        take_infos(ev);
    else if (ev->kind == TRACE_BATCH)
        take_batch(ev);
    else if (ev->kind == TRACE_ALLOC && ours(ev->alloc.bytes)) {
        sampled_blocks += (double)ev->alloc.weight / 1000;
        sampled_bytes += (double)ev->alloc.bytes * (double)ev->alloc.weight / 1000;
    }
}

static void print_names(void)
{
    const char *between = "";
    uint64_t at;

    fputs("\"names\": [", stdout);
    for (unsigned int i = 0; i < name_count; i++) {
        if (!intmap_get(&texts, names[i], &at))
            continue;
        printf("%s\"", between);
        for (const char *c = pool + at; *c; c++)
            putchar(*c >= ' ' && *c < 127 && *c != '"' && *c != '\\' ? *c : '?');
        putchar('"');
        between = ", ";
    }
    puts("]}");
}

int main(int argc, char **argv)
{
    struct err err;
    struct trace *t = argc == 2 ? trace_open(argv[1], &err) : NULL;
    struct trace_event ev;

    if (!t) {
        fprintf(stderr, "tally: %s\n", argc == 2 ? err.text : "usage: tally TRACE");
        return 1;
    }
    while (trace_next(t, &ev))
        take(&ev);
    printf("{\"allocs\": %" PRIu64 ", \"frees\": %" PRIu64 ", \"bytes\": %" PRIu64
           ", \"sampled_blocks\": %.0f, \"sampled_bytes\": %.0f, \"processes\": %" PRIu64 ", ",
           allocs, frees, bytes, sampled_blocks, sampled_bytes, processes);
    print_names();
    trace_close(t);
    return 0;
}
