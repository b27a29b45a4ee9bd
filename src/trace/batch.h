/* batch - the tails of BATCH, STACKS and INFOS: put together by the collector, taken apart by
 * readers. They are described in format.h. No allocation, libc only.
 */
#ifndef TRACE_BATCH_H
#define TRACE_BATCH_H

#include "trace/format.h"
#include "trace/varint.h"

#include <stdbool.h>
#include <stddef.h>

#define BATCH_EVENTS_MOST 32768u
#define BATCH_RUNS_MOST 4096u
#define BATCH_TAIL_MOST (BATCH_RUNS_MOST * 20u + BATCH_EVENTS_MOST * 7u + 16u)

struct batch {
    unsigned char runs[BATCH_RUNS_MOST * 20];
    unsigned char symbols[BATCH_EVENTS_MOST * 6]; /* five bytes, and one to take a free back */
    unsigned char fates[BATCH_EVENTS_MOST];
    size_t runs_used, symbols_used, fates_used;
    uint32_t events, run_count;
    uint32_t thread, run_events; /* of the run that is open */
    uint64_t start_ns, run_ns, last_ns;
};

/* Empty: it starts at this time. */
void batch_reset(struct batch *b, uint64_t start_ns);

/* Events from now on are of this thread and time. */
void batch_at(struct batch *b, uint32_t thread, uint64_t time_ns);

static inline bool batch_full(const struct batch *b)
{
    return b->events >= BATCH_EVENTS_MOST - 4 || b->run_count >= BATCH_RUNS_MOST - 2;
}

static inline void batch_symbol(struct batch *b, uint32_t symbol)
{
    unsigned char *end = varint_put(b->symbols + b->symbols_used, symbol);

    b->symbols_used = (size_t)(end - b->symbols);
}

static inline void batch_alloc(struct batch *b, uint32_t info)
{
    batch_symbol(b, info * 2);
    b->events++;
    b->run_events++;
}

static inline void batch_free(struct batch *b, uint32_t info, unsigned char fate)
{
    batch_symbol(b, info * 2 + 1);
    b->fates[b->fates_used++] = fate;
    b->events++;
    b->run_events++;
}

/* The free of such a block did not happen. */
void batch_unfree(struct batch *b, uint32_t info);

/* The fate of a block. */
static inline unsigned char batch_fate(bool same_thread, uint32_t later_allocs, uint64_t lived_ns)
{
    unsigned int near = same_thread && later_allocs < 15 ? later_allocs : 15;
    uint64_t units = lived_ns >> 16;
    unsigned int lived = units ? 64u - (unsigned int)__builtin_clzll(units) : 0;

    return (unsigned char)(near | (lived < 15 ? lived : 15) << 4);
}

/* The tail, into BATCH_TAIL_MOST bytes; its size. */
size_t batch_close(struct batch *b, unsigned char *tail);

enum batch_op { BATCH_ALLOC, BATCH_FREE, BATCH_UNFREE };

struct batch_event {
    uint64_t time_ns;
    uint64_t thread, info; /* info 0: a block that was not seen to live */
    enum batch_op op;
    unsigned char later_allocs; /* of a free: 15 is more, or another thread */
    unsigned char lived;        /* of a free: class of lifetimes, see format.h */
};

/* The same of a run, whose events are all of one thread and time: small, as there are so many. */
struct batch_item {
    uint32_t info; /* BATCH_INFO_BEYOND: a larger number than any block has */
    unsigned char op, fate;
};

#define BATCH_INFO_BEYOND UINT32_MAX

static inline unsigned int batch_later_allocs(const struct batch_item *i)
{
    return i->fate & 15;
}

static inline unsigned int batch_lived(const struct batch_item *i)
{
    return i->fate >> 4;
}

struct batch_reader {
    const unsigned char *runs, *runs_end, *symbols, *symbols_end, *fates, *fates_end;
    uint64_t time_ns, thread, left;
    bool malformed;
};

/* Start reading a tail; -1 when it is malformed. end_ns is the record's time. */
int batch_open(struct batch_reader *r, const unsigned char *tail, size_t size, uint64_t end_ns,
               uint64_t span_ns);

/* 1: *ev is the next event; 0: the end; -1: malformed, also when it is called again. */
int batch_next(struct batch_reader *r, struct batch_event *ev);
/* The same for up to `most` of one run at once, and faster: they are of r->thread and r->time_ns.
 * How many there were; 0: it is the end, or malformed there, as batch_next will say.
 */
size_t batch_take(struct batch_reader *r, struct batch_item *items, size_t most);

/* The next stack of a STACKS record; *tail and *size, its tail, and *next, first its `first`, move
 * on. False at the end, and when it is malformed: then *size is not 0.
 */
bool batch_next_stack(const unsigned char **tail, size_t *size, uint64_t *next,
                      struct trace_stack *stack);

struct batch_info {
    uint64_t info, bytes, stack, origin;
};

/* The same for an INFOS record. *info is the one before, all 0 but `info`, which is first - 1. */
bool batch_next_info(const unsigned char **tail, size_t *size, struct batch_info *info);

/* One info of an INFOS record, after `before`; into BATCH_INFO_MOST bytes. How many it took. */
#define BATCH_INFO_MOST (3 * VARINT_MOST)
size_t batch_put_info(unsigned char *p, uint64_t bytes, uint64_t stack, uint64_t origin,
                      uint64_t stack_before);

/* One stack of a STACKS record; into BATCH_STACK_MOST bytes. How many it took. */
#define BATCH_STACK_MOST (2 * VARINT_MOST)
size_t batch_put_stack(unsigned char *p, uint64_t stack, uint64_t parent, uint64_t frame);

#endif
