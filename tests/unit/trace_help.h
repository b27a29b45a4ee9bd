/* trace_help - what the tests of the trace share: small traces, files in memory, all records. */
#ifndef TRACE_HELP_H
#define TRACE_HELP_H

#include "base/arena.h"
#include "trace/read.h"
#include "trace/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELP_FIELDS(...)                                                                           \
    (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

static struct arena help_arena; /* main frees it */

struct bytes {
    unsigned char *data;
    size_t size, room;
};

static inline void bytes_add(struct bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->room) {
        b->room = 2 * (b->size + size);
        b->data = arena_grow(&help_arena, b->data, b->size, b->room);
    }
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline struct bytes bytes_of_file(const char *path)
{
    struct bytes b = {0};
    unsigned char piece[4096];
    FILE *f = fopen(path, "r");
    size_t n;

    while (f && (n = fread(piece, 1, sizeof(piece), f)))
        bytes_add(&b, piece, n);
    if (f)
        fclose(f);
    return b;
}

/* A path in the directory of temporary files; the test removes the file. */
static inline const char *temporary(const char *name)
{
    static char path[512];
    const char *directory = getenv("TMPDIR");

    snprintf(path, sizeof(path), "%s/tidemark-%d-%s", directory ? directory : "/tmp", getpid(),
             name);
    return path;
}

/* All records of a trace, one after another, in a form that can be compared by bytes. */
struct reading {
    bool opened;
    struct bytes all;
    size_t count;
    struct trace_health health;
    struct err err;
};

static inline struct reading reading_of(const void *data, size_t size, uint64_t from, uint64_t to)
{
    struct reading r = {0};
    struct trace_event ev;
    struct trace *t = trace_open_bytes(data, size, "trace", &r.err);

    r.opened = t != NULL;
    if (!t)
        return r;
    trace_rewind(t, from, to);
    for (; trace_next(t, &ev); r.count++) {
        const uint64_t head[] = {ev.kind, ev.time_ns, ev.present, ev.tail_bytes};

        bytes_add(&r.all, head, sizeof(head));
        bytes_add(&r.all, ev.fields, sizeof(ev.fields));
        bytes_add(&r.all, ev.tail, ev.tail_bytes);
    }
    r.health = trace_health(t);
    trace_close(t);
    return r;
}

static inline struct reading read_all(struct bytes b)
{
    return reading_of(b.data, b.size, 0, UINT64_MAX);
}

static inline bool is_prefix(struct bytes part, struct bytes whole)
{
    return part.size <= whole.size && (!part.size || memcmp(part.data, whole.data, part.size) == 0);
}

/* Four flushes, one per second, each a chunk of events and some with definitions: 30 records. */
static inline struct bytes small_trace(void)
{
    static const char *const names[] = {"sh", "cc1", "as", "ld"};
    const char *path = temporary("small.tide");
    struct err err;
    struct trace_store *s = trace_store_create(path, &err);
    struct bytes b = {0};

    if (!s)
        return b;
    for (uint64_t second = 0; second < 4; second++) {
        uint64_t name = trace_store_string(s, names[second], strlen(names[second]));

        trace_store_put(s, TRACE_PROCESS, second * 1000000000,
                        HELP_FIELDS(second + 1, second, 100 + second, 7, 2, name), NULL, 0);
        for (uint64_t tick = 0; tick < 5; tick++) {
            const struct trace_pair pairs[] = {{METRIC_RSS, 4096 * tick},
                                               {METRIC_CPU_NS, tick << 20}};

            trace_store_put(s, TRACE_SAMPLE, second * 1000000000 + tick * 200000000,
                            HELP_FIELDS(TRACE_OF_PROCESS, second + 1), pairs, 2);
        }
        if (second < 3)
            trace_store_flush(s);
    }
    trace_store_fact(s, TRACE_OF_RUN, 0, "sh", "text", 4);
    if (trace_store_close(s, &err) == 0)
        b = bytes_of_file(path);
    remove(path);
    return b;
}

/* The offset of the n-th chunk. */
static inline size_t chunk_offset(struct bytes b, unsigned int n)
{
    size_t at = sizeof(struct trace_header);
    struct trace_chunk c;

    assert(b.data);
    for (; n; n--, at += sizeof(c) + c.stored)
        memcpy(&c, b.data + at, sizeof(c));
    return at;
}

#endif
