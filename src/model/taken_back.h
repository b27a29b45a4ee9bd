/* taken_back - the records of a trace without frees that were taken back: they have never been.
 *
 * The collector takes a free back when a realloc fails, and where it was wrong about which of two
 * threads came first within a tick: by an event of the same batch, or of one soon after it. So
 * batches wait here until some more have come, with all records behind them: their order stays, and
 * every model sees the same heap at every moment. Which events they were can be noted: who reads
 * the records again need not wait.
 */
#ifndef MODEL_TAKEN_BACK_H
#define MODEL_TAKEN_BACK_H

#include "trace/read.h"

#include <stddef.h>

#define TAKEN_BACK_HELD 32 /* batches */

typedef void taken_back_take(void *context, const struct trace_event *ev);

struct taken_back_found { /* zeroed: none */
    struct taken_back_event {
        uint64_t place; /* of its batch: trace_place; */
        uint32_t at;    /* and its own there, from 0 */
    } * list;           /* in the order of the trace */
    size_t count, room;
    bool more; /* there were too many */
};

struct taken_back { /* zeroed but for these: empty */
    taken_back_take *take;
    void *context;
    struct taken_back_found *notes;       /* what is found is added to them; NULL: nobody asks */
    const struct taken_back_found *known; /* by notes of the same records; NULL: it is not, */
    size_t next;                          /* and the next of it */
    struct held_record *first, *last;
    size_t batches, bytes;
    uint64_t looks;         /* at events that may still be taken, to find a free */
    struct batch *batch;    /* to write one again, */
    unsigned char *encoded; /* and its tail */
};

/* A record, in the order of the trace; it, or others before it, are handed on. `place` is needed
 * for what is noted or known. */
void taken_back_record(struct taken_back *t, const struct trace_event *ev, uint64_t place);
/* There are no more: hand on all that is held. */
void taken_back_end(struct taken_back *t);
void taken_back_forget(struct taken_back_found *f);

#endif
