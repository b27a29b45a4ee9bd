/* write - records into bytes. Shared with the code inside the target: libc only, no malloc, no
 * stdio, no lock, no system call. One buffer belongs to one writer.
 */
#ifndef TRACE_WRITE_H
#define TRACE_WRITE_H

#include "trace/format.h"

#include <stddef.h>

struct trace_pair {
    uint64_t metric, value;
};

struct trace_buffer {
    unsigned char *data; /* the caller's memory */
    size_t room, used;
    uint64_t time_ns;           /* of the last timed record; what the next one is relative to */
    uint64_t first_ns, last_ns; /* least and greatest time in it; first > last: it has none */
    uint32_t records;
};

/* Empty the buffer: the next time is written in full again. */
void trace_buffer_reset(struct trace_buffer *b);

/* Append one record. `fields` is the kind's struct (or its first `count` fields), `tail` its tail:
 * `tail_count` bytes or pairs; where a tail follows, missing fields are written as 0. Kinds without
 * a time ignore time_ns. Returns 0, or -1 when it does not fit (or there is no such kind); then
 * nothing was written.
 */
int trace_put(struct trace_buffer *b, enum trace_kind kind, uint64_t time_ns,
              const uint64_t *fields, size_t count, const void *tail, size_t tail_count);

/* The shape of a kind: has it a time, how many fields, which tail. NULL for an unknown number. */
struct trace_shape {
    const char *name;
    uint8_t timed, fields, tail;
};

const struct trace_shape *trace_shape_of(uint64_t kind);

#endif
