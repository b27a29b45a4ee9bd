/* store - a trace file being written; see store.h.
 *
 * A chunk reaches the file whole or not at all: what a failed write left behind is cut off again.
 * After the first failure nothing more is written, because later records may refer to definitions
 * that were lost; they are counted instead.
 */
#include "trace/store.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#define CHUNK_CUT (256u << 10)       /* bytes of records that end a chunk */
#define BUFFER_ROOM (2u * CHUNK_CUT) /* pages are touched only as they fill */
#define LEVEL 1 /* measured on samples: level 3 is 16 % smaller at half the speed */
#define STRINGS_FIRST 256u

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are written as they are");

struct string {
    const char *text;
    size_t len;
    uint64_t hash;
};

struct trace_store {
    struct arena arena; /* texts and the path; everything else is malloc'ed and can shrink */
    const char *path;
    int fd;
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
    struct string *strings; /* by number, from 1 */
    uint32_t *slots;        /* open addressing: numbers of strings, 0: free */
    uint32_t string_count, slot_count;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t trace_store_time(const struct trace_store *s, uint64_t mono_ns)
{
    return mono_ns > s->origin_ns ? mono_ns - s->origin_ns : 0;
}

uint64_t trace_store_now(const struct trace_store *s)
{
    return trace_store_time(s, clock_ns(CLOCK_MONOTONIC));
}

/* Bytes to the file */

static int write_all(int fd, const unsigned char *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* A write to a closed pipe or above the file size limit raises a signal that would end the tool.
 * It is held back here, not ignored for the whole process: the command inherits what we ignore.
 */
static int write_quietly(int fd, const unsigned char *data, size_t size)
{
    const struct timespec at_once = {0};
    sigset_t deadly, before, pending;
    bool was_pending;
    int error;

    sigemptyset(&deadly);
    sigaddset(&deadly, SIGPIPE);
    sigaddset(&deadly, SIGXFSZ);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE) || sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &deadly, &before);
    error = write_all(fd, data, size);
    if ((error == EPIPE || error == EFBIG) && !was_pending)
        sigtimedwait(&deadly, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Only a regular file can take back part of a chunk; a pipe stays cut, which readers understand. */
static int append(struct trace_store *s, size_t size)
{
    s->failed = write_quietly(s->fd, s->packed, size);
    if (s->failed) {
        (void)!ftruncate(s->fd, (off_t)s->file_bytes);
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

/* Make an empty buffer larger, for one large record; -1 when it is as large as it may be. */
static int enlarge(struct trace_buffer *b)
{
    size_t room = b->room ? b->room * 2 : BUFFER_ROOM;
    unsigned char *data;

    if (room > TRACE_CHUNK_MOST)
        return -1;
    data = realloc(b->data, room);
    if (!data)
        return -1;
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
        else if (!shape || enlarge(b) < 0) {
            s->lost++; /* larger than any chunk; the trace goes on without it */
            return;
        }
    }
    if (s->failed)
        s->lost++;
    else if (b->used >= CHUNK_CUT)
        cut(s, b);
}

/* Strings */

static uint64_t hash_text(const char *text, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t *find_slot(const struct trace_store *s, const struct string *wanted)
{
    for (uint32_t i = (uint32_t)wanted->hash;; i++) {
        uint32_t *slot = &s->slots[i & (s->slot_count - 1)];
        const struct string *known = &s->strings[*slot];

        if (*slot == 0 || (known->hash == wanted->hash && known->len == wanted->len &&
                           memcmp(known->text, wanted->text, wanted->len) == 0))
            return slot;
    }
}

/* At most half of the slots are ever taken. */
static void grow_strings(struct trace_store *s)
{
    uint32_t old = s->slot_count / 2 + 1;

    s->slot_count = s->slot_count ? s->slot_count * 2 : STRINGS_FIRST;
    s->strings = arena_grow(&s->arena, s->strings, s->strings ? old * sizeof(*s->strings) : 0,
                            (s->slot_count / 2 + 1) * sizeof(*s->strings));
    s->slots = arena_alloc(&s->arena, s->slot_count * sizeof(*s->slots));
    for (uint32_t i = 1; i <= s->string_count; i++)
        *find_slot(s, &s->strings[i]) = i;
}

uint64_t trace_store_string(struct trace_store *s, const char *text, size_t len)
{
    struct string wanted = {.text = text, .len = len};
    uint32_t *slot;
    uint64_t number;

    if (!text)
        return 0;
    if (s->string_count == s->slot_count / 2)
        grow_strings(s);
    wanted.hash = hash_text(text, len);
    slot = find_slot(s, &wanted);
    if (*slot)
        return *slot;
    wanted.text = arena_strndup(&s->arena, text, len);
    *slot = ++s->string_count;
    s->strings[*slot] = wanted;
    number = *slot;
    trace_store_put(s, TRACE_STRING, 0, &number, 1, text, len);
    return number;
}

void trace_store_fact(struct trace_store *s, enum trace_subject subject, uint64_t id,
                      const char *key, const char *text, size_t len)
{
    const uint64_t fields[] = {subject, id, trace_store_string(s, key, strlen(key))};

    trace_store_put(s, TRACE_FACT, 0, fields, 3, text, len);
}

/* Beginning and end */

static int write_header(struct trace_store *s)
{
    struct trace_header header = {.version = TRACE_VERSION,
                                  .least = 1,
                                  .bytes = sizeof(header),
                                  .mono_ns = s->origin_ns,
                                  .real_ns = clock_ns(CLOCK_REALTIME)};

    memcpy(header.magic, TRACE_MAGIC, sizeof(header.magic));
    if (getrandom(header.id, sizeof(header.id), 0) != (ssize_t)sizeof(header.id))
        return -1;
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

/* A file that another recording still writes is left to it; where there are no locks, nobody knows. */
static int open_alone(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    struct stat file;

    if (fd < 0)
        return err_set(err, "cannot write '%s': %s", path, strerror(errno));
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) {
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
            close(fd);
            return err_set(err, "cannot write '%s': another recording is writing it", path);
        }
        if (ftruncate(fd, 0) < 0) {
            err_set(err, "cannot write '%s': %s", path, strerror(errno));
            close(fd);
            return -1;
        }
    }
    return fd;
}

struct trace_store *trace_store_create(const char *path, struct err *err)
{
    struct trace_store *s = calloc(1, sizeof(*s));

    if (!s) {
        err_set(err, "cannot write '%s': out of memory", path);
        return NULL;
    }
    s->path = arena_strndup(&s->arena, path, strlen(path));
    s->fd = open_alone(path, err);
    if (s->fd < 0) {
        release(s);
        return NULL;
    }
    s->origin_ns = clock_ns(CLOCK_MONOTONIC);
    if (write_header(s) < 0) {
        err_set(err, "cannot write '%s': %s", path, strerror(errno));
        close(s->fd);
        release(s);
        return NULL;
    }
    return s;
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
    int result;

    if (!s)
        return 0;
    trace_store_put(s, TRACE_END, s->last_ns, NULL, 0, NULL, 0); /* names took time after it */
    trace_store_flush(s);
    if (close(s->fd) < 0 && errno != EINTR && !s->failed)
        s->failed = errno; /* a network disk may say only now that it is full */
    result = report_loss(s, err);
    release(s);
    return result;
}
