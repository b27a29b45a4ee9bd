/* store - a trace file being written; see store.h.
 *
 * A chunk reaches the file whole or not at all: what a failed write left behind is cut off again.
 * After the first failure nothing more is written, because later records may refer to definitions
 * that were lost; they are counted instead.
 */
#include "trace/store.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "trace/storefile.h"
#include "trace/texts.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define CHUNK_CUT (256u << 10)       /* bytes of records that end a chunk */
#define BUFFER_ROOM (2u * CHUNK_CUT) /* pages are touched only as they fill */
#define LEVEL 1 /* measured on samples: level 3 is 16 % smaller at half the speed */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are written as they are");

struct trace_store {
    struct arena arena; /* texts and the path; everything else is malloc'ed and can shrink */
    const char *path;
    struct storefile file;
    int failed;          /* errno of the first failure; nothing is written after it */
    uint64_t lost;       /* records */
    uint64_t origin_ns;  /* CLOCK_MONOTONIC */
    uint64_t last_ns;    /* the greatest time of an event */
    uint64_t file_bytes; /* header and whole chunks */
    uint32_t sequence;
    struct trace_buffer definitions, events;
    ZSTD_CCtx *zstd;
    unsigned char *packed; /* one chunk as it goes to the file */
    size_t packed_room;
    struct texts strings;
};

uint64_t trace_store_time(const struct trace_store *s, uint64_t mono_ns)
{
    return mono_ns > s->origin_ns ? mono_ns - s->origin_ns : 0;
}

uint64_t trace_store_now(const struct trace_store *s)
{
    return trace_store_time(s, clock_ns(CLOCK_MONOTONIC));
}

/* Only a regular file can take back part of a chunk; a pipe stays cut, which readers understand. */
static int append(struct trace_store *s, size_t size)
{
    storefile_look(&s->file, s->file_bytes);
    s->failed = storefile_write(&s->file, s->packed, size);
    if (s->failed) {
        (void)!ftruncate(s->file.fd, (off_t)s->file_bytes);
        return -1;
    }
    s->file_bytes += size;
    return 0;
}

/* Chunks */

static int reserve_packed(struct trace_store *s, size_t size)
{
    unsigned char *packed;

    if (size <= s->packed_room)
        return 0;
    packed = realloc(s->packed, size);
    if (!packed)
        return -1;
    s->packed = packed;
    s->packed_room = size;
    return 0;
}

static ZSTD_CCtx *compressor(struct trace_store *s)
{
    if (!s->zstd) {
        s->zstd = ZSTD_createCCtx();
        if (!s->zstd)
            return NULL;
        ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1);
        ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_contentSizeFlag, 1);
    }
    return s->zstd;
}

/* Build the chunk in s->packed; its size, or 0 for lack of memory. */
static size_t pack(struct trace_store *s, const struct trace_buffer *b, enum trace_chunk_kind kind)
{
    struct trace_chunk chunk = {.magic = TRACE_CHUNK_MAGIC,
                                .kind = (uint8_t)kind,
                                .codec = 1,
                                .raw = (uint32_t)b->used,
                                .records = b->records,
                                .sequence = s->sequence};
    size_t stored;

    if (reserve_packed(s, sizeof(chunk) + ZSTD_compressBound(b->used)) < 0 || !compressor(s))
        return 0;
    stored = ZSTD_compress2(s->zstd, s->packed + sizeof(chunk), s->packed_room - sizeof(chunk),
                            b->data, b->used);
    if (ZSTD_isError(stored))
        return 0;
    chunk.stored = (uint32_t)stored;
    if (kind == TRACE_CHUNK_EVENTS) {
        chunk.first_ns = b->first_ns;
        chunk.last_ns = b->last_ns;
    }
    memcpy(s->packed, &chunk, sizeof(chunk));
    return sizeof(chunk) + stored;
}

static void write_chunk(struct trace_store *s, struct trace_buffer *b, enum trace_chunk_kind kind)
{
    if (b->records && !s->failed) {
        size_t size = pack(s, b, kind);

        if (size == 0)
            s->failed = ENOMEM;
        else if (append(s, size) == 0)
            s->sequence++;
    }
    if (s->failed)
        s->lost += b->records;
    trace_buffer_reset(b);
}

void trace_store_flush(struct trace_store *s)
{
    write_chunk(s, &s->definitions, TRACE_CHUNK_DEFINITIONS);
    write_chunk(s, &s->events, TRACE_CHUNK_EVENTS);
}

/* Only what events refer to must be in the file before them, not the other way round. */
static void cut(struct trace_store *s, struct trace_buffer *b)
{
    if (b == &s->definitions)
        write_chunk(s, b, TRACE_CHUNK_DEFINITIONS);
    else
        trace_store_flush(s);
}

/* Make an empty buffer larger, for one large record; -1 when it is as large as it may be. Without
 * memory nothing more can be written.
 */
static int enlarge(struct trace_store *s, struct trace_buffer *b)
{
    size_t room = b->room ? b->room * 2 : BUFFER_ROOM;
    unsigned char *data;

    if (room > TRACE_CHUNK_MOST)
        return -1;
    data = realloc(b->data, room);
    if (!data) {
        s->failed = ENOMEM;
        return 0;
    }
    b->data = data;
    b->room = room;
    return 0;
}

void trace_store_put(struct trace_store *s, enum trace_kind kind, uint64_t time_ns,
                     const uint64_t *fields, size_t count, const void *tail, size_t tail_count)
{
    const struct trace_shape *shape = trace_shape_of(kind);
    struct trace_buffer *b = shape && shape->timed ? &s->events : &s->definitions;

    if (b == &s->events && time_ns > s->last_ns)
        s->last_ns = time_ns;
    while (!s->failed && trace_put(b, kind, time_ns, fields, count, tail, tail_count) < 0) {
        if (b->records)
            cut(s, b);
        else if (!shape || enlarge(s, b) < 0) {
            s->lost++; /* larger than any chunk; the trace goes on without it */
            return;
        }
    }
    if (s->failed)
        s->lost++;
    else if (b->used >= CHUNK_CUT)
        cut(s, b);
}

uint64_t trace_store_string(struct trace_store *s, const char *text, size_t len)
{
    uint64_t number;
    bool added;

    if (!text)
        return 0;
    number = texts_number(&s->strings, &s->arena, text, len, &added);
    if (added)
        trace_store_put(s, TRACE_STRING, 0, &number, 1, text, len);
    return number;
}

uint64_t trace_store_texts(const struct trace_store *s)
{
    return s->strings.bytes;
}

void trace_store_fact(struct trace_store *s, enum trace_subject subject, uint64_t id,
                      const char *key, const char *text, size_t len)
{
    const uint64_t fields[] = {subject, id, trace_store_string(s, key, strlen(key))};

    trace_store_put(s, TRACE_FACT, 0, fields, 3, text, len);
}

/* Beginning and end */

/* It tells traces apart, no more: without a kernel that gives any, time and place will do. */
static void choose_id(unsigned char id[16], uint64_t origin_ns)
{
    uint64_t words[2] = {hash_mix(clock_ns(CLOCK_REALTIME), (uint64_t)getpid()),
                         hash_mix(origin_ns, (uint64_t)(uintptr_t)id)};

    if (getrandom(id, 16, 0) != 16)
        memcpy(id, words, sizeof(words));
}

static int write_header(struct trace_store *s)
{
    struct trace_header header = {.version = TRACE_VERSION,
                                  .least = 1,
                                  .bytes = sizeof(header),
                                  .mono_ns = s->origin_ns,
                                  .real_ns = clock_ns(CLOCK_REALTIME)};

    memcpy(header.magic, TRACE_MAGIC, sizeof(header.magic));
    choose_id(header.id, s->origin_ns);
    if (reserve_packed(s, sizeof(header)) < 0)
        return -1;
    memcpy(s->packed, &header, sizeof(header));
    if (append(s, sizeof(header)) < 0) {
        errno = s->failed;
        return -1;
    }
    return 0;
}

static void release(struct trace_store *s)
{
    ZSTD_freeCCtx(s->zstd);
    free(s->definitions.data);
    free(s->events.data);
    free(s->packed);
    arena_free(&s->arena);
    free(s);
}

static int fill_header(struct trace_store *s, struct err *err)
{
    s->origin_ns = clock_ns(CLOCK_MONOTONIC);
    if (write_header(s) == 0 && storefile_cut(&s->file, s->file_bytes) == 0)
        return 0;
    err_code(err, storefile_kind(errno), "cannot write '%s': %s", s->path, strerror(errno));
    storefile_discard(&s->file, s->path);
    close(s->file.fd);
    return -1;
}

static struct trace_store *create(const char *path, bool anew, struct err *err)
{
    struct trace_store *s = calloc(1, sizeof(*s));

    if (!s) {
        err_code(err, STOREFILE_STATE, "cannot write '%s': out of memory", path);
        return NULL;
    }
    s->path = arena_strndup(&s->arena, path, strlen(path));
    if (storefile_open(&s->file, path, anew, err) < 0 || fill_header(s, err) < 0) {
        release(s);
        return NULL;
    }
    return s;
}

struct trace_store *trace_store_create(const char *path, struct err *err)
{
    return create(path, false, err);
}

void trace_store_began(struct trace_store *s, uint64_t real_ns)
{
    if (s->file.regular)
        (void)!pwrite(s->file.fd, &real_ns, sizeof(real_ns),
                      offsetof(struct trace_header, real_ns));
}

struct trace_store *trace_store_create_new(const char *path, struct err *err)
{
    return create(path, true, err);
}

int trace_store_descriptor(const struct trace_store *s)
{
    return s->file.regular ? s->file.fd : -1;
}

int trace_store_check(struct trace_store *s, struct err *err)
{
    trace_store_flush(s);
    storefile_look(&s->file, s->file_bytes);
    return storefile_check(&s->file, s->path, err);
}

static int report_loss(const struct trace_store *s, struct err *err)
{
    unsigned long long lost = s->lost;

    if (s->failed && lost)
        return err_set(
            err, "cannot write '%s': %s; %llu record%s lost, the trace holds what came before",
            s->path, strerror(s->failed), lost, lost == 1 ? " was" : "s were");
    if (s->failed)
        return err_set(err, "cannot close '%s': %s; the end of the trace may be missing", s->path,
                       strerror(s->failed));
    if (lost)
        return err_set(err, "'%s' lacks %llu record%s too large for a trace", s->path, lost,
                       lost == 1 ? " that was" : "s that were");
    return 0;
}

int trace_store_close(struct trace_store *s, struct err *err)
{
    struct err gone;
    int result, vanished;

    if (!s)
        return 0;
    trace_store_put(s, TRACE_END, s->last_ns, NULL, 0, NULL, 0); /* names took time after it */
    vanished = trace_store_check(s, &gone);
    if (close(s->file.fd) < 0 && errno != EINTR && !s->failed)
        s->failed = errno; /* a network disk may say only now that it is full */
    result = report_loss(s, err);
    if (vanished && err)
        *err = gone;
    release(s);
    return vanished ? -1 : result;
}

void trace_store_discard(struct trace_store *s)
{
    struct err ignored;

    if (!s)
        return;
    if (s->file.regular && storefile_check(&s->file, s->path, &ignored) == 0)
        unlink(s->path);
    close(s->file.fd);
    release(s);
}
