/* mutate - what the fuzzers of traces share.
 *
 * With libFuzzer (-DFUZZ_ENGINE -fsanitize=fuzzer) a mutator of our own changes the records inside
 * the compressed chunks, because changing compressed bytes almost never gets beyond the checksum.
 * Without it, a program that reads each file given as an argument.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "trace/format.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "replay.h"

#ifdef FUZZ_ENGINE

#define RAW_MOST 65536u

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

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

/* Change the records in a chunk and pack them again. The counts in its header stay as they were in
 * one of four cases, so that the reader's checks of them are reached, too.
 */
static size_t mutate_records(uint8_t *data, size_t size, size_t max_size, size_t at,
                             unsigned int seed)
{
    static uint8_t raw[RAW_MOST], packed[RAW_MOST * 2];
    uint8_t *body = data + at + sizeof(struct trace_chunk);
    size_t rest, raw_size, packed_size;
    struct trace_chunk c;

    memcpy(&c, data + at, sizeof(c));
    raw_size = ZSTD_decompress(raw, sizeof(raw), body, c.stored);
    if (ZSTD_isError(raw_size))
        return 0;
    raw_size = LLVMFuzzerMutate(raw, raw_size, sizeof(raw));
    packed_size = compress(packed, sizeof(packed), raw, raw_size);
    rest = size - at - sizeof(c) - c.stored;
    if (ZSTD_isError(packed_size) || at + sizeof(c) + packed_size + rest > max_size)
        return 0;
    memmove(body + packed_size, body + c.stored, rest);
    memcpy(body, packed, packed_size);
    c.stored = (uint32_t)packed_size;
    if (seed & 0x30)
        c.raw = (uint32_t)raw_size;
    memcpy(data + at, &c, sizeof(c));
    return at + sizeof(c) + packed_size + rest;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size_t at = seed % 4 ? choose_chunk(data, size, seed) : 0;
    size_t mutated = at ? mutate_records(data, size, max_size, at, seed) : 0;

    return mutated ? mutated : LLVMFuzzerMutate(data, size, max_size);
}

#endif

#endif
