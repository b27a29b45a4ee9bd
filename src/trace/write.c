/* write - records into bytes; see write.h. The length of a record stands before its payload, so the
 * sizes are added up first: then nothing is moved, and a record that does not fit writes nothing.
 */
#include "trace/write.h"

#include "trace/varint.h"

#include <string.h>

static const struct trace_shape shapes[TRACE_KIND_LAST + 1] = {
#define X(name, number, timed, fields, tail) [number] = {#name, timed, fields, TRACE_TAIL_##tail},
    TRACE_KINDS(X)
#undef X
};

#define X(name, number, timed, fields, tail)                                                       \
    _Static_assert((fields) <= TRACE_FIELDS_MOST && (number) < 128, "TRACE_" #name " is too large");
TRACE_KINDS(X)
#undef X

const struct trace_shape *trace_shape_of(uint64_t kind)
{
    return kind <= TRACE_KIND_LAST && shapes[kind].name ? &shapes[kind] : NULL;
}

static size_t pairs_size(const struct trace_pair *pairs, size_t count)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += varint_size(pairs[i].metric) + varint_size(pairs[i].value);
    return size;
}

static unsigned char *put_pairs(unsigned char *p, const struct trace_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        p = varint_put(p, pairs[i].metric);
        p = varint_put(p, pairs[i].value);
    }
    return p;
}

static void note_time(struct trace_buffer *b, uint64_t time_ns)
{
    b->time_ns = time_ns;
    if (time_ns < b->first_ns)
        b->first_ns = time_ns;
    if (time_ns > b->last_ns)
        b->last_ns = time_ns;
}

void trace_buffer_reset(struct trace_buffer *b)
{
    b->used = 0;
    b->time_ns = 0;
    b->first_ns = UINT64_MAX; /* no time yet: above every last_ns */
    b->last_ns = 0;
    b->records = 0;
}

/* How the bytes of one record are divided. */
struct measure {
    size_t fields, padding, tail; /* bytes */
    uint64_t since;
};

static struct measure measure(const struct trace_shape *shape, uint64_t since,
                              const uint64_t *fields, size_t count, const void *tail,
                              size_t tail_count)
{
    struct measure m = {.since = since};

    for (size_t i = 0; i < count; i++)
        m.fields += varint_size(fields[i]);
    if (tail_count && shape->tail != TRACE_TAIL_NONE) {
        m.padding = shape->fields - count; /* or the tail would be read as fields */
        m.tail = shape->tail == TRACE_TAIL_BYTES ? tail_count : pairs_size(tail, tail_count);
    }
    return m;
}

static unsigned char *put_payload(unsigned char *p, const struct trace_shape *shape,
                                  const struct measure *m, const uint64_t *fields, size_t count,
                                  const void *tail, size_t tail_count)
{
    if (shape->timed)
        p = varint_put(p, m->since);
    for (size_t i = 0; i < count; i++)
        p = varint_put(p, fields[i]);
    if (m->tail == 0)
        return p;
    memset(p, 0, m->padding);
    p += m->padding;
    if (shape->tail == TRACE_TAIL_PAIRS)
        return put_pairs(p, tail, tail_count);
    memcpy(p, tail, m->tail);
    return p + m->tail;
}

int trace_put(struct trace_buffer *b, enum trace_kind kind, uint64_t time_ns,
              const uint64_t *fields, size_t count, const void *tail, size_t tail_count)
{
    const struct trace_shape *shape = trace_shape_of(kind);
    struct measure m;
    size_t size;
    unsigned char *p;

    if (!shape)
        return -1;
    if (b->records == 0)
        trace_buffer_reset(b); /* so that a zeroed buffer is an empty one, too */
    if (count > shape->fields)
        count = shape->fields;
    m = measure(shape, varint_zigzag(time_ns - b->time_ns), fields, count, tail, tail_count);
    size = (shape->timed ? varint_size(m.since) : 0) + m.fields + m.padding + m.tail;
    if (m.tail > b->room || 1 + varint_size(size) + size > b->room - b->used)
        return -1;
    p = varint_put(b->data + b->used, kind);
    p = varint_put(p, size);
    p = put_payload(p, shape, &m, fields, count, tail, tail_count);
    b->used = (size_t)(p - b->data);
    b->records++;
    if (shape->timed)
        note_time(b, time_ns);
    return 0;
}
