/* chunks - from chunk to chunk over a trace in memory: unpacked, checked, damage stepped over.
 *
 * The lower half of read.c, and used by it alone. No size in the file is believed before it was
 * checked against the bytes that are there; memory stays below TRACE_CHUNK_MOST for each of the two
 * buffers (records, zstd's window), whatever the file says.
 */
#ifndef TRACE_CHUNKS_H
#define TRACE_CHUNKS_H

#include "trace/format.h"
#include "trace/trace_health.h"

#include <stddef.h>

struct ZSTD_DCtx_s;

struct chunks {
    const unsigned char *data; /* the whole file */
    size_t size;
    size_t first;            /* where the first chunk begins */
    bool newer;              /* written by a newer version: unknown chunks are no damage */
    uint64_t from_ns, to_ns; /* chunks of events outside of it are hopped over */
    uint64_t judged_ns;      /* damage to chunks of events that begin later is not counted */
    bool trusted;            /* no last chunk is unpacked to see whether it is what it says */
    struct trace_health health;

    size_t at;         /* where the next chunk should begin */
    uint32_t sequence; /* what its number should be */
    bool lost;         /* bytes were stepped over since the last good header */
    uint64_t unpacked; /* bytes of records so far */

    struct trace_chunk chunk; /* the one that is unpacked */
    bool partial;             /* of a cut chunk: ends anywhere */
    unsigned char *records;
    size_t records_bytes, records_room;
    struct ZSTD_DCtx_s *zstd;
};

/* Over these bytes, which must outlive it; -1 for lack of memory. */
int chunks_open(struct chunks *k, const void *data, size_t size, const struct trace_header *header);
void chunks_close(struct chunks *k);

/* Back to the first chunk, with a clean bill of health. */
void chunks_rewind(struct chunks *k, uint64_t from_ns, uint64_t to_ns);

/* The greatest time that a chunk's header names; 0: none does. Nothing is unpacked. */
uint64_t chunks_last_ns(const struct chunks *k);

/* Is it after what is judged? */
bool chunks_beyond(const struct chunks *k, const struct trace_chunk *c);

/* Go on by one step: a chunk is unpacked into `records`, or was hopped or stepped over, which
 * leaves records_bytes 0. false at the end of the file.
 */
bool chunks_next(struct chunks *k);

#endif
