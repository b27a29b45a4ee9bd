/* read - the one decoder of a trace; see read.h. Here records are taken out of the chunk that is
 * unpacked; chunks.c goes from chunk to chunk.
 */
#include "trace/read.h"

#include "trace/chunks.h"
#include "trace/mapped.h"
#include "trace/varint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct trace {
    struct trace_header header;
    struct mapped *file; /* NULL: somebody else's bytes */
    struct chunks chunks;
    const unsigned char *next, *end; /* what is left of the records of the chunk; NULL: no chunk */
    uint64_t time_ns;
    uint32_t seen; /* records of it so far */
    bool marked;   /* it is already counted as damaged */
    bool begun;    /* since the last rewind */
    uint64_t passes;
};

static void mark_damaged(struct trace *t, size_t bytes)
{
    if (chunks_beyond(&t->chunks, &t->chunks.chunk))
        return;
    if (!t->marked)
        t->chunks.health.damaged++;
    t->marked = true;
    t->chunks.health.damaged_bytes += bytes;
}

/* The time, the fields and the tail of one payload; false when they are malformed. */
static bool decode(struct trace *t, const struct trace_shape *shape, const unsigned char *p,
                   const unsigned char *end, struct trace_event *ev)
{
    if (shape->timed) {
        if (!varint_take(&p, end, &ev->time_ns))
            return false;
        ev->time_ns = t->time_ns += varint_unzigzag(ev->time_ns);
    }
    while (ev->present < shape->fields && p < end)
        if (!varint_take(&p, end, &ev->fields[ev->present++]))
            return false;
    if (shape->tail != TRACE_TAIL_NONE) {
        ev->tail = p;
        ev->tail_bytes = (size_t)(end - p);
    }
    return true;
}

/* Take one record of the unpacked chunk; false when it is malformed or, in a cut chunk, cut.
 * ev->kind is 0 for one that this version does not know.
 */
static bool take_record(struct trace *t, struct trace_event *ev)
{
    const struct trace_shape *shape;
    const unsigned char *payload = t->next;
    uint64_t kind, length;

    memset(ev, 0, sizeof(*ev));
    if (!varint_take(&payload, t->end, &kind) || !varint_take(&payload, t->end, &length) ||
        length > (size_t)(t->end - payload))
        return false;
    t->next = payload + length;
    t->seen++;
    shape = trace_shape_of(kind);
    if (!shape)
        return true;
    ev->kind = (enum trace_kind)kind;
    return decode(t, shape, payload, t->next, ev);
}

/* A chunk's header decides whether a stretch of time needs it, so it must be true: its records have
 * a time, and within those bounds.
 */
static void check_header(struct trace *t, const struct trace_event *ev, bool timed)
{
    if (t->chunks.chunk.kind == TRACE_CHUNK_EVENTS &&
        (!timed || ev->time_ns < t->chunks.chunk.first_ns || ev->time_ns > t->chunks.chunk.last_ns))
        mark_damaged(t, 0);
}

static void check_end_of_chunk(struct trace *t)
{
    if (t->end && !t->chunks.partial && t->seen != t->chunks.chunk.records)
        mark_damaged(t, 0);
}

/* 1: *ev is the next record that is wanted; 0: the chunk has no more. */
static int next_in_chunk(struct trace *t, struct trace_event *ev)
{
    bool timed;

    while (t->next < t->end) {
        if (!take_record(t, ev)) {
            t->next = t->end;
            if (!t->chunks.partial)
                mark_damaged(t, t->chunks.chunk.stored);
            return 0;
        }
        if (ev->kind == 0)
            continue;
        if (ev->kind == TRACE_END && !t->chunks.partial)
            t->chunks.health.complete = true;
        timed = trace_shape_of(ev->kind)->timed;
        check_header(t, ev, timed);
        if (!timed || (ev->time_ns >= t->chunks.from_ns && ev->time_ns <= t->chunks.to_ns))
            return 1;
    }
    return 0;
}

bool trace_next_pair(struct trace_event *ev, struct trace_pair *pair)
{
    const unsigned char *p = ev->tail, *end = p ? p + ev->tail_bytes : NULL;
    const struct trace_shape *shape = trace_shape_of(ev->kind);

    if (!p || !shape || shape->tail != TRACE_TAIL_PAIRS || !varint_take(&p, end, &pair->metric) ||
        !varint_take(&p, end, &pair->value))
        return false;
    ev->tail = p;
    ev->tail_bytes = (size_t)(end - p);
    return true;
}

/* Go on to the next chunk; false at the end. */
static bool next_chunk(struct trace *t)
{
    check_end_of_chunk(t);
    t->next = t->end = NULL;
    t->time_ns = 0;
    t->seen = 0;
    t->marked = false;
    if (!chunks_next(&t->chunks))
        return false;
    if (t->chunks.records_bytes) {
        t->next = t->chunks.records;
        t->end = t->next + t->chunks.records_bytes;
    }
    return true;
}

int trace_next(struct trace *t, struct trace_event *ev)
{
    t->passes += !t->begun;
    t->begun = true;
    do {
        if (next_in_chunk(t, ev))
            return 1;
    } while (next_chunk(t));
    return 0;
}

void trace_rewind(struct trace *t, uint64_t from_ns, uint64_t to_ns)
{
    chunks_rewind(&t->chunks, from_ns, to_ns);
    t->next = t->end = NULL;
    t->begun = false;
}

void trace_rewind_own(struct trace *t)
{
    trace_rewind(t, UINT64_MAX, 0);
    t->chunks.trusted = true;
}

void trace_judge(struct trace *t, uint64_t to_ns)
{
    t->chunks.judged_ns = to_ns;
}

void trace_narrow(struct trace *t, uint64_t to_ns)
{
    t->chunks.to_ns = to_ns;
}

/* The chunk ends there, and has no more records than bytes. */
uint64_t trace_place(const struct trace *t)
{
    _Static_assert(TRACE_CHUNK_MOST <= 1u << 22, "a number of a record fits beside its chunk");

    return (uint64_t)t->chunks.at << 22 | t->seen;
}

uint64_t trace_passes(const struct trace *t)
{
    return t->passes;
}

uint64_t trace_last_ns(const struct trace *t)
{
    return chunks_last_ns(&t->chunks);
}

struct trace_health trace_health(const struct trace *t)
{
    return t->chunks.health;
}

/* Opening and closing */

static int check_file(const struct trace_header *h, size_t size, const char *name, struct err *err)
{
    size_t magic = size < sizeof(h->magic) ? size : sizeof(h->magic);

    if (size == 0)
        return err_set(err, "'%s' is empty", name);
    if (memcmp(h->magic, TRACE_MAGIC, magic) != 0) {
        if (size >= 5 && memcmp(h->magic, TRACE_MAGIC, 5) == 0)
            return err_set(
                err, "'%s' was damaged by a transfer in text mode; copy it again as binary", name);
        return err_set(err, "'%s' is not a tidemark trace", name);
    }
    if (size < sizeof(*h))
        return err_set(err, "'%s' was cut before anything was recorded", name);
    if (h->least > TRACE_VERSION)
        return err_set(err,
                       "'%s' is in trace format %u, but this tidemark reads formats up to %d: "
                       "update tidemark",
                       name, (unsigned int)h->least, TRACE_VERSION);
    if (h->bytes < sizeof(*h))
        return err_set(err, "'%s' is damaged: its header has an impossible size", name);
    return 0;
}

struct trace *trace_open_bytes(const void *data, size_t size, const char *name, struct err *err)
{
    struct trace_header header = {0};
    struct trace *t;

    if (size)
        memcpy(&header, data, size < sizeof(header) ? size : sizeof(header));
    if (check_file(&header, size, name, err) < 0)
        return NULL;
    t = calloc(1, sizeof(*t));
    if (!t || chunks_open(&t->chunks, data, size, &header) < 0) {
        err_set(err, "cannot read '%s': out of memory", name);
        free(t);
        return NULL;
    }
    t->header = header;
    return t;
}

/* Not to wait for a FIFO's writer, it is opened without blocking. */
static int open_regular(const char *path, size_t *size, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        err_set(err, "cannot open '%s': %s", path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        err_set(err, "'%s' is a directory, not a trace", path);
    } else if (!S_ISREG(st.st_mode)) {
        err_set(err, "'%s' is not a regular file; save the trace to one first", path);
    } else {
        *size = (size_t)st.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

struct trace *trace_open(const char *path, struct err *err)
{
    struct mapped *file = NULL;
    struct trace *t;
    size_t size;
    int fd = open_regular(path, &size, err);

    if (fd < 0)
        return NULL;
    if (size)
        file = mapped_open(fd, size);
    close(fd);
    if (size && !file) {
        err_set(err, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    t = trace_open_bytes(file ? mapped_bytes(file) : NULL, size, path, err);
    if (t)
        t->file = file;
    else
        mapped_close(file);
    return t;
}

int trace_check(const struct trace *t, const char *path, struct err *err)
{
    if (!t->file || !mapped_is_cut(t->file))
        return 0;
    return err_set(err, "'%s' became shorter while it was read; try again when nobody writes to it",
                   path);
}

void trace_close(struct trace *t)
{
    if (!t)
        return;
    mapped_close(t->file);
    chunks_close(&t->chunks);
    free(t);
}

const struct trace_header *trace_header(const struct trace *t)
{
    return &t->header;
}

uint64_t trace_size(const struct trace *t)
{
    return t->chunks.size;
}
