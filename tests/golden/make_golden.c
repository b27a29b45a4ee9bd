/* make_golden - write the golden traces into a directory: make_golden DIRECTORY.
 *
 * The store takes clocks and random bytes from the system, so what depends on them is patched or
 * chosen afterwards: the header's times and id. END has the time of the close and is in no golden
 * trace but "ended", which is built from chunks by hand. Every other byte follows from this file
 * and from the version of zstd.
 */
#include "trace/batch.h"
#include "trace/store.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static char directory[3072];

static void fail(const char *what)
{
    fprintf(stderr, "make_golden: %s\n", what);
    exit(1);
}

static char *path_of(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof(path), "%s/%s.tide", directory, name);
    return path;
}

static struct trace_store *begin(const char *name)
{
    struct err err;
    struct trace_store *s = trace_store_create(path_of(name), &err);

    if (!s)
        fail(err.text);
    return s;
}

static void set_header(struct trace_header *header)
{
    static const unsigned char id[16] = "golden trace id";

    memcpy(header->magic, TRACE_MAGIC, sizeof(header->magic));
    header->version = TRACE_VERSION;
    header->least = 1;
    header->bytes = sizeof(*header);
    header->mono_ns = 1000000000;
    header->real_ns = 1717245296500000000;
    memcpy(header->id, id, sizeof(id));
}

/* Close it, take off what the close added, and give it a header that is always the same. */
static void end(struct trace_store *s, const char *name)
{
    struct trace_header header = {0};
    struct stat st;
    struct err err;
    int fd = open(path_of(name), O_RDWR);

    trace_store_flush(s);
    set_header(&header);
    if (fd < 0 || fstat(fd, &st) < 0 || trace_store_close(s, &err) < 0 ||
        ftruncate(fd, st.st_size) < 0 || pwrite(fd, &header, sizeof(header), 0) != sizeof(header))
        fail("cannot finish a golden trace");
    close(fd);
}

#define PUT(s, kind, time, tail, tail_count, ...)                                                  \
    trace_store_put(s, kind, time, (const uint64_t[]){__VA_ARGS__},                                \
                    sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), tail, tail_count)

static uint64_t text(struct trace_store *s, const char *t)
{
    return trace_store_string(s, t, strlen(t));
}

/* Every kind up to END once at least, in the order of their numbers; make_heap has the others. */
static void make_kinds(void)
{
    static const struct trace_pair pairs[] = {
        {METRIC_RSS, 4096}, {METRIC_CPU_NS, 123456789}, {1000, UINT64_MAX}};
    static const struct trace_pair labels[] = {{1, 2}, {2, 1}};
    struct trace_store *s = begin("kinds");
    uint64_t name = text(s, "worker"), file = text(s, "/usr/lib/libm.so.6");

    text(s, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8a \xff\xc3 \"quoted\"\n");
    trace_store_fact(s, TRACE_OF_RUN, 0, "command", "make -j2", 8);
    PUT(s, TRACE_PROCESS, 1000, NULL, 0, 1, 0, 4711, 88, TRACE_BORN_LAUNCHED, name, name);
    PUT(s, TRACE_THREAD, 1500, NULL, 0, 1, 1, 4711, name);
    PUT(s, TRACE_SAMPLE, 2000, pairs, 3, TRACE_OF_PROCESS, 1);
    PUT(s, TRACE_DEVICE, 0, NULL, 0, 1, name, name, 0);
    PUT(s, TRACE_MAP, 2500, NULL, 0, 1, 0x7f0000000000, 0x1000, 0, 5, file, 0);
    PUT(s, TRACE_UNMAP, 3000, NULL, 0, 1, 0x7f0000000000, 0x1000);
    PUT(s, TRACE_FRAME, 0, NULL, 0, 1, 0, 1, 0x7f0000000123);
    PUT(s, TRACE_NAME, 0, NULL, 0, 1, 0, name, file, 42);
    PUT(s, TRACE_STACK, 0, NULL, 0, 1, 0, 1);
    PUT(s, TRACE_ALLOC, 3500, NULL, 0, 1, 0x5500, 64, 1, 0, 1, 1);
    PUT(s, TRACE_FREE, 3400, NULL, 0, 1, 0x5500, 0); /* time may go back */
    PUT(s, TRACE_CPU, 3600, NULL, 0, 1, 1, 1000000, 0);
    PUT(s, TRACE_WAIT, 3700, NULL, 0, 1, 1, 2000000, 1);
    PUT(s, TRACE_REGION, 3800, NULL, 0, 1, 1, name, 0);
    PUT(s, TRACE_REGION_END, 3900, NULL, 0, 1, 1);
    PUT(s, TRACE_MARK, 4000, NULL, 0, 1, 0, name, 7);
    PUT(s, TRACE_MARK, 4050, NULL, 0, 1, 1, name, 8, 4);
    PUT(s, TRACE_LABEL, 4100, NULL, 0, 1, name, name);
    PUT(s, TRACE_SOURCE, 0, "int main(void)", 14, file, 42);
    PUT(s, TRACE_LOSS, 4200, "ring full", 9, 1, 0, 3, 300);
    PUT(s, TRACE_ALERT, 4300, "rss above 1 GiB", 15, 1, METRIC_RSS, 1u << 30, (1u << 30) + 1);
    PUT(s, TRACE_UNREACHED, 4350, NULL, 0, 1, 2, 30);
    PUT(s, TRACE_CONTEXT, 0, labels, 2, 1, 1, 3);
    PUT(s, TRACE_CONTEXT, 0, NULL, 0, 2, 1); /* step absent: it is not known */
    PUT(s, TRACE_INFO_CONTEXT, 0, NULL, 0, 1, 1, 2, 5);
    PUT(s, TRACE_SPACE, 0, NULL, 0, 1, name, TRACE_SPACE_PINNED);
    PUT(s, TRACE_SPACE_ALLOC, 4360, NULL, 0, 1, 1, 2u << 20, 1, 1, name, 1, 0x7f0000200000);
    PUT(s, TRACE_SPACE_FREE, 4370, NULL, 0, 1, 1, 1, 0);
    PUT(s, TRACE_SPACE_FAILED, 4380, NULL, 0, 1, 1ull << 40, 1, 1, name, 2);
    PUT(s, TRACE_LAUNCHES, 4390, NULL, 0, 1, 1, name, 1000);
    PUT(s, TRACE_DESCRIBED, 4395, NULL, 0, 1, 0x7f0000001000, name, name, 1);
    PUT(s, TRACE_ACCESS, 4397, NULL, 0, 1, 0x7f0000001000, 4096,
        TRACE_ACCESS_READ | TRACE_ACCESS_WRITE, name); /* space absent: the host's */
    PUT(s, TRACE_ACCESS, 4397, NULL, 0, 1, 0x7f0000200000, 0, TRACE_ACCESS_READ, name, 1);
    PUT(s, TRACE_POOL, 4398, NULL, 0, 1, 0x7f1000000000, 2097152, 3, 1536, 1048576, 1200);
    PUT(s, TRACE_WATCH, 4399, NULL, 0, 1, 0x7f1000000000, TRACE_WATCH_CHANGED, name, 4096, 1);
    PUT(s, TRACE_OP, 4399, NULL, 0, 1, name);
    PUT(s, TRACE_OP_END, 4399, NULL, 0, 1);
    PUT(s, TRACE_STARTED, 4399, NULL, 0, 1, 101, 1);
    PUT(s, TRACE_THREAD_END, 4400, NULL, 0, 1);
    PUT(s, TRACE_PROCESS_END, 4500, NULL, 0, 1, TRACE_END_EXITED); /* status absent */
    end(s, "kinds");
}

/* Ten flushes of two processes: what `run` writes, with definitions between the events. */
static void make_run(void)
{
    struct trace_store *s = begin("run");
    uint64_t command = text(s, "sort -u words");

    for (uint64_t second = 0; second < 10; second++) {
        if (second == 0 || second == 4)
            PUT(s, TRACE_PROCESS, second * 1000000000, NULL, 0, second / 4 + 1, second / 4,
                100 + second, 5000 + second, second ? TRACE_BORN_FORKED : TRACE_BORN_LAUNCHED,
                text(s, second ? "sort" : "sh"), command);
        for (uint64_t tick = 0; tick < 10; tick++) {
            uint64_t time = second * 1000000000 + tick * 100000000 + 17;
            struct trace_pair pairs[] = {{METRIC_RSS, (second * 10 + tick + 1) * 4096},
                                         {METRIC_CPU_NS, time / 2}};

            PUT(s, TRACE_SAMPLE, time, pairs, 2, TRACE_OF_PROCESS, 1);
            if (second >= 4)
                PUT(s, TRACE_SAMPLE, time, pairs, 1, TRACE_OF_PROCESS, 2);
        }
        trace_store_flush(s);
    }
    end(s, "run");
}

/* The tails: a chain of stacks with a branch, and infos that go back and forth between them. */
static void put_stacks_and_infos(struct trace_store *s)
{
    unsigned char tail[256];
    size_t used = batch_put_stack(tail, 1, 0, 1);

    used += batch_put_stack(tail + used, 2, 1, 2);
    used += batch_put_stack(tail + used, 3, 1, 3);
    PUT(s, TRACE_STACKS, 0, tail, used, 1, 3);
    used = batch_put_info(tail, 64, 3, TRACE_BY_MALLOC, 0);
    used += batch_put_info(tail + used, 1u << 20, 2, TRACE_BY_CALLOC, 3);
    used += batch_put_info(tail + used, UINT64_MAX, 3, TRACE_BY_REALLOC, 2);
    PUT(s, TRACE_INFOS, 0, tail, used, 1, 1, 3);
    PUT(s, TRACE_STACKS, 0, "\x00", 1, 4, 1);               /* cut: no frame */
    PUT(s, TRACE_STACKS, 0, "\x04\x01", 2, 4, 1);           /* a parent below 0 */
    PUT(s, TRACE_INFOS, 0, "\x40\x02\x00\x40", 4, 2, 1, 2); /* the second one is cut */
}

static void put_batches(struct trace_store *s)
{
    static struct batch b;
    static unsigned char tail[BATCH_TAIL_MOST];

    batch_reset(&b, 1000000);
    batch_at(&b, 1, 1000000);
    batch_alloc(&b, 1);
    batch_alloc(&b, 2);
    batch_free(&b, 1, batch_fate(true, 1, 0));
    batch_at(&b, 2, 1500000);
    batch_free(&b, 0, 0xff);
    batch_free(&b, 2, batch_fate(false, 0, 500000));
    batch_unfree(&b, 2);
    batch_at(&b, 1, 1400000); /* time may go back */
    batch_alloc(&b, 3);
    batch_free(&b, 3, batch_fate(true, 14, UINT64_MAX));
    PUT(s, TRACE_BATCH, b.last_ns, tail, batch_close(&b, tail), 1, 8, b.last_ns - b.start_ns);
    PUT(s, TRACE_BATCH, 2000000, "\x03\x01\x00\x02\x01\x02\x00", 7, 1, 2, 0); /* one symbol lacks */
    PUT(s, TRACE_BATCH, 2100000, "\x03\x01\x00\x01\x01\x02\x01\x00", 8, 1, 1,
        0);                                                       /* a fate too many */
    PUT(s, TRACE_BATCH, 2200000, "\x05\x01\x00\x01", 4, 1, 1, 0); /* a cut column */
    PUT(s, TRACE_BATCH, 2300000, "\x00\x00\x00", 3, 1, 0, 0);     /* nothing happened */
}

/* What `record` writes: code, stacks, infos, batches and mappings; and tails that are malformed. */
static void make_heap(void)
{
    struct trace_store *s = begin("heap");
    uint64_t file = text(s, "/usr/bin/sort"), id = text(s, "0123456789abcdef");
    uint64_t function = text(s, "grow"), name = text(s, "sort");

    PUT(s, TRACE_MODULE, 0, NULL, 0, 1, file, id);
    PUT(s, TRACE_FRAME, 0, NULL, 0, 1, TRACE_FRAME_MODULE, 1, 0x1234);
    PUT(s, TRACE_NAME, 0, NULL, 0, 1, 0, function, file, 7);
    PUT(s, TRACE_FRAME, 0, NULL, 0, 2, TRACE_FRAME_ADDRESS | TRACE_FRAME_GUESSED, 1,
        0x7f0000000123);
    PUT(s, TRACE_FRAME, 0, NULL, 0, 3, TRACE_FRAME_CUT);
    put_stacks_and_infos(s);
    PUT(s, TRACE_PROCESS, 500000, NULL, 0, 1, 0, 4711, 88, TRACE_BORN_LAUNCHED, name, name);
    PUT(s, TRACE_THREAD, 600000, NULL, 0, 1, 1, 4711, name);
    PUT(s, TRACE_THREAD, 700000, NULL, 0, 2, 1, 4712, name);
    PUT(s, TRACE_MMAP, 800000, NULL, 0, 1, 0x7f0000000000, 0x4000, 2, 3, TRACE_MMAP_ANONYMOUS);
    PUT(s, TRACE_MUNMAP, 900000, NULL, 0, 2, 0x7f0000001000, 0x1000);
    put_batches(s);
    PUT(s, TRACE_LOSS, 2400000, "a buffer was full", 17, 1, TRACE_LOST_FULL, 3);
    end(s, "heap");
}

static void write_chunk(FILE *f, const struct trace_buffer *b, uint32_t sequence)
{
    unsigned char packed[4096];
    struct trace_chunk chunk = {.magic = TRACE_CHUNK_MAGIC,
                                .kind = TRACE_CHUNK_EVENTS,
                                .codec = 1,
                                .raw = (uint32_t)b->used,
                                .records = b->records,
                                .sequence = sequence,
                                .first_ns = b->first_ns,
                                .last_ns = b->last_ns};
    ZSTD_CCtx *zstd = ZSTD_createCCtx();

    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    chunk.stored = (uint32_t)ZSTD_compress2(zstd, packed, sizeof(packed), b->data, b->used);
    ZSTD_freeCCtx(zstd);
    fwrite(&chunk, sizeof(chunk), 1, f);
    fwrite(packed, chunk.stored, 1, f);
}

/* A newer writer's trace, closed in good order: a field, a kind and a metric that are not known,
 * and a header that is longer.
 */
static void make_ended(void)
{
    static const unsigned char unknown[] = {
        TRACE_THREAD_END,
        3,
        0x14,
        1,
        99, /* one field more than this version has */
        77,
        2,
        0xaa,
        0xbb, /* kind 77 */
    };
    static const unsigned char more_header[8] = "more";
    const struct trace_pair pair = {250, 5};
    unsigned char data[256];
    struct trace_buffer b = {.data = data, .room = sizeof(data)};
    struct trace_header header = {0};
    FILE *f = fopen(path_of("ended"), "w");

    if (!f)
        fail("cannot create a golden trace");
    set_header(&header);
    header.version = TRACE_VERSION + 1;
    header.bytes += sizeof(more_header);
    fwrite(&header, sizeof(header), 1, f);
    fwrite(more_header, sizeof(more_header), 1, f);
    trace_put(&b, TRACE_SAMPLE, 10, (uint64_t[]){TRACE_OF_RUN, 0}, 2, &pair, 1);
    memcpy(data + b.used, unknown, sizeof(unknown));
    b.used += sizeof(unknown);
    b.records += 2;
    b.time_ns += 10;
    trace_put(&b, TRACE_END, 30, NULL, 0, NULL, 0);
    write_chunk(f, &b, 0);
    if (fclose(f) != 0)
        fail("cannot write a golden trace");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        fail("usage: make_golden DIRECTORY");
    snprintf(directory, sizeof(directory), "%s", argv[1]);
    make_kinds();
    make_run();
    make_ended();
    make_heap();
    return 0;
}
