/* mutate - see mutate.h: the chunks of a trace, taken apart and put together again. */
#include "mutate.h"

#include "trace/format.h"

#include <string.h>
#include <zstd.h>

#define RAW_MOST (512u << 10)

#ifdef FUZZ_ENGINE

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_trace(data, size, max_size, seed);
}

static size_t mutate_bytes(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    (void)seed;
    return LLVMFuzzerMutate(data, size, max_size);
}

#else

static size_t mutate_bytes(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    (void)max_size;
    if (size)
        data[(seed >> 3) * 2654435761u % size] ^= (uint8_t)(1 + seed % 255);
    return size;
}

#endif

/* The offset of one of the chunks, chosen by the seed; 0 when there is none. */
static size_t choose_chunk(const uint8_t *data, size_t size, unsigned int seed)
{
    size_t at = sizeof(struct trace_header), chosen = 0;
    struct trace_chunk c;

    for (unsigned int n = 1; at + sizeof(c) <= size; n++, at += sizeof(c) + c.stored) {
        memcpy(&c, data + at, sizeof(c));
        if (c.magic != TRACE_CHUNK_MAGIC || c.stored > size - at - sizeof(c))
            break;
        if ((seed >> 8) % n == 0)
            chosen = at;
    }
    return chosen;
}

static size_t compress(void *to, size_t room, const void *from, size_t size)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    size_t n;

    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    n = ZSTD_compress2(zstd, to, room, from, size);
    ZSTD_freeCCtx(zstd);
    return n;
}

/* The head of a changed chunk. It is right in most cases; else the reader's checks are reached. */
static void fix_head(struct trace_chunk *c, size_t raw, size_t packed, uint32_t records,
                     unsigned int seed)
{
    c->stored = (uint32_t)packed;
    if (seed & 0x70)
        c->raw = (uint32_t)raw;
    if (seed & 0x380)
        c->records = records;
    if ((seed & 0x1c00) == 0)
        c->kind ^= 3;
    if ((seed & 0xe000) == 0) /* a stretch of time that the events are not in, or all of it */
        c->last_ns = seed & 0x10000 ? UINT64_MAX : c->first_ns;
}

/* Change the records in a chunk and pack them again; 0: it cannot be done. */
static size_t mutate_chunk(uint8_t *data, size_t size, size_t max_size, size_t at,
                           unsigned int seed)
{
    static uint8_t raw[RAW_MOST], packed[RAW_MOST + (RAW_MOST >> 7) + 512];
    uint8_t *body = data + at + sizeof(struct trace_chunk);
    size_t rest, raw_size, packed_size;
    struct trace_chunk c;

    memcpy(&c, data + at, sizeof(c));
    raw_size = ZSTD_decompress(raw, sizeof(raw), body, c.stored);
    if (ZSTD_isError(raw_size))
        return 0;
    raw_size = seed % 8 ? mutate_records(raw, raw_size, sizeof(raw), &c.records, seed)
                        : mutate_bytes(raw, raw_size, sizeof(raw), seed);
    packed_size = compress(packed, sizeof(packed), raw, raw_size);
    rest = size - at - sizeof(c) - c.stored;
    if (raw_size == 0 || ZSTD_isError(packed_size) ||
        at + sizeof(c) + packed_size + rest > max_size)
        return 0;
    memmove(body + packed_size, body + c.stored, rest);
    memcpy(body, packed, packed_size);
    fix_head(&c, raw_size, packed_size, c.records, seed);
    memcpy(data + at, &c, sizeof(c));
    return at + sizeof(c) + packed_size + rest;
}

/* The same chunk once more at the end: definitions that come again, events that are told twice. */
static size_t repeat_chunk(uint8_t *data, size_t size, size_t max_size, size_t at)
{
    struct trace_chunk c;
    size_t whole;

    memcpy(&c, data + at, sizeof(c));
    whole = sizeof(c) + c.stored;
    if (whole > max_size - size)
        return 0;
    memcpy(data + size, data + at, whole);
    return size + whole;
}

size_t mutate_trace(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size_t at = seed % 16 ? choose_chunk(data, size, seed) : 0;
    size_t mutated = 0;

    if (at)
        mutated = seed % 16 == 1 ? repeat_chunk(data, size, max_size, at)
                                 : mutate_chunk(data, size, max_size, at, seed);
    return mutated ? mutated : mutate_bytes(data, size, max_size, seed);
}
