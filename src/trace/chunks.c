/* chunks - see chunks.h. */
#include "trace/chunks.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define WINDOW_LOG_MOST 21 /* for the piece of a cut chunk: zstd allocates 2 MiB and a little */
#define GAP_MOST 65536u    /* a larger gap in the numbers is a damaged number */
/* A file may unpack to this much more than its size; recordings of one loop reach 300 times. */
#define UNPACKED_FREE ((uint64_t)64 << 20)
#define UNPACKED_TIMES 2048u
#define ZSTD_FRAME_MAGIC "\x28\xb5\x2f\xfd"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are read as they are");

static bool known_chunk(const struct trace_chunk *c)
{
    return (c->kind == TRACE_CHUNK_DEFINITIONS || c->kind == TRACE_CHUNK_EVENTS) && c->codec == 1;
}

/* Could a chunk begin at `at`? What a newer version may have added is allowed only in its traces:
 * elsewhere it is a damaged byte.
 */
static bool chunk_at(const struct chunks *k, size_t at, struct trace_chunk *c)
{
    size_t left;

    if (at > k->size || k->size - at < sizeof(*c))
        return false;
    memcpy(c, k->data + at, sizeof(*c));
    if (c->magic != TRACE_CHUNK_MAGIC || c->raw > TRACE_CHUNK_MOST || c->records > c->raw / 2 ||
        c->stored > ZSTD_COMPRESSBOUND(TRACE_CHUNK_MOST))
        return false;
    if (!known_chunk(c))
        return k->newer;
    left = k->size - at - sizeof(*c);
    return left < 4 || memcmp(k->data + at + sizeof(*c), ZSTD_FRAME_MAGIC, 4) == 0;
}

/* The next place from `at` on where a chunk could begin, or the end of the file. */
static size_t search_chunk(const struct chunks *k, size_t at)
{
    struct trace_chunk c;

    while (at < k->size) {
        const unsigned char *p = memchr(k->data + at, TRACE_CHUNK_MAGIC & 0xff, k->size - at);

        if (!p)
            break;
        at = (size_t)(p - k->data);
        if (chunk_at(k, at, &c))
            return at;
        at++;
    }
    return k->size;
}

/* Step over damage from k->at to the next chunk after `from`. How many chunks went is known when
 * the next one gives its number.
 */
static void step_over(struct chunks *k, size_t from)
{
    size_t to = search_chunk(k, from);

    k->health.damaged_bytes += to - k->at;
    k->at = to;
    k->lost = true;
}

static void count_gap(struct chunks *k, uint32_t sequence)
{
    uint32_t gap = sequence - k->sequence;

    if (gap > GAP_MOST)
        gap = 1;
    k->health.damaged += gap ? gap : k->lost;
    k->lost = false;
    k->sequence = sequence + 1;
}

static bool reserve_records(struct chunks *k, size_t size)
{
    unsigned char *records;

    if (k->records && size <= k->records_room)
        return true;
    records = realloc(k->records, size ? size : 1);
    if (!records)
        return false;
    k->records = records;
    k->records_room = size;
    return true;
}

/* What is unpacked costs time and memory: a small file must not cost much of it. */
static bool within_reason(struct chunks *k, const struct trace_chunk *c)
{
    uint64_t read = k->at + sizeof(*c) + c->stored;

    k->unpacked += c->raw;
    return k->unpacked <= UNPACKED_FREE + UNPACKED_TIMES * read;
}

static bool unpack(struct chunks *k, const struct trace_chunk *c)
{
    const unsigned char *packed = k->data + k->at + sizeof(*c);

    if (!within_reason(k, c) || ZSTD_getFrameContentSize(packed, c->stored) != c->raw ||
        !reserve_records(k, c->raw) ||
        ZSTD_decompressDCtx(k->zstd, k->records, c->raw, packed, c->stored) != c->raw)
        return false;
    k->chunk = *c;
    k->partial = false;
    k->records_bytes = c->raw;
    return true;
}

/* Of a chunk that the end of the file cuts: the zstd blocks that are whole. */
static void unpack_cut(struct chunks *k, const struct trace_chunk *c)
{
    ZSTD_inBuffer in = {.src = k->data + k->at + sizeof(*c), .size = k->size - k->at - sizeof(*c)};
    ZSTD_outBuffer out;
    size_t before;

    if (!reserve_records(k, c->raw))
        return;
    out = (ZSTD_outBuffer){.dst = k->records, .size = c->raw};
    ZSTD_DCtx_reset(k->zstd, ZSTD_reset_session_only);
    do {
        before = in.pos + out.pos;
        if (ZSTD_isError(ZSTD_decompressStream(k->zstd, &out, &in)))
            break;
    } while (in.pos + out.pos > before);
    k->chunk = *c;
    k->partial = true;
    k->records_bytes = out.pos;
}

/* The chunk at k->at reaches beyond the end of the file: it was cut, or its length is damaged. */
static void take_cut(struct chunks *k, const struct trace_chunk *c)
{
    size_t later = search_chunk(k, k->at + sizeof(*c));

    if (later < k->size) {
        step_over(k, later);
        return;
    }
    count_gap(k, c->sequence);
    k->health.cut = true;
    if (known_chunk(c))
        unpack_cut(k, c);
    k->at = k->size;
}

/* Can it be hopped over unseen? Not the last chunk, which holds END, and not one whose length leads
 * to no other chunk: that length may be damaged, unless the file is our own.
 */
static bool unwanted(const struct chunks *k, const struct trace_chunk *c, bool followed)
{
    if (!known_chunk(c))
        return true;
    return c->kind == TRACE_CHUNK_EVENTS && (followed || k->trusted) &&
           (c->last_ns < k->from_ns || c->first_ns > k->to_ns);
}

/* Damage that nobody asked about: a stretch of time needs nothing after it to be whole. */
bool chunks_beyond(const struct chunks *k, const struct trace_chunk *c)
{
    return c->kind == TRACE_CHUNK_EVENTS && c->first_ns > k->judged_ns;
}

static void take_whole(struct chunks *k, const struct trace_chunk *c)
{
    size_t after = k->at + sizeof(*c) + c->stored;
    struct trace_chunk next;
    bool followed = chunk_at(k, after, &next);

    if (unwanted(k, c, followed) || unpack(k, c)) {
        count_gap(k, c->sequence);
        k->at = after;
    } else if (followed || after == k->size) {
        count_gap(k, c->sequence);
        if (!chunks_beyond(k, c)) {
            k->health.damaged++;
            k->health.damaged_bytes += after - k->at;
        }
        k->at = after;
    } else {
        step_over(k, k->at + 1);
    }
}

bool chunks_next(struct chunks *k)
{
    struct trace_chunk c;

    k->records_bytes = 0;
    if (k->at >= k->size) {
        k->health.damaged += k->lost;
        k->lost = false;
        return false;
    }
    if (k->size - k->at < sizeof(c)) {
        k->health.cut = true;
        k->at = k->size;
    } else if (!chunk_at(k, k->at, &c)) {
        step_over(k, k->at + 1);
    } else if (c.stored > k->size - k->at - sizeof(c)) {
        take_cut(k, &c);
    } else {
        take_whole(k, &c);
    }
    return true;
}

void chunks_rewind(struct chunks *k, uint64_t from_ns, uint64_t to_ns)
{
    k->from_ns = from_ns;
    k->to_ns = k->judged_ns = to_ns;
    k->health = (struct trace_health){0};
    k->at = k->first;
    k->sequence = 0;
    k->unpacked = 0;
    k->lost = false;
    k->trusted = false;
    k->records_bytes = 0;
}

uint64_t chunks_last_ns(const struct chunks *k)
{
    struct trace_chunk c;
    uint64_t last_ns = 0;
    size_t at = search_chunk(k, k->first);

    while (at < k->size && chunk_at(k, at, &c)) {
        if (c.kind == TRACE_CHUNK_EVENTS && c.last_ns > last_ns)
            last_ns = c.last_ns;
        at = at + sizeof(c) + c.stored;
        if (at < k->size && !chunk_at(k, at, &c))
            at = search_chunk(k, at);
    }
    return last_ns;
}

int chunks_open(struct chunks *k, const void *data, size_t size, const struct trace_header *header)
{
    *k = (struct chunks){.data = data, .size = size, .zstd = ZSTD_createDCtx()};
    if (!k->zstd)
        return -1;
    ZSTD_DCtx_setParameter(k->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MOST);
    k->first = header->bytes <= size ? header->bytes : sizeof(*header);
    k->newer = header->version > TRACE_VERSION;
    chunks_rewind(k, 0, UINT64_MAX);
    return 0;
}

void chunks_close(struct chunks *k)
{
    ZSTD_freeDCtx(k->zstd);
    free(k->records);
}
