/* recorded - an open trace and what is known of it: models that are read when somebody asks for
 * them, all of them in one pass, and once.
 *
 * Who asks says what it reads (RECORDED_*) and gets it by recorded_read. What follows memory over
 * time can only begin when the whole trace is known: it adds itself to heap.replay, or to those who
 * take records, and recorded_read_again hands all events out once more. So any number of questions
 * about one stretch of time take two passes. Where it is sampled and not the whole, both passes
 * read on to the end of the trace: peaks of the stretch are bound by those of the whole
 * (recorded_bound.c).
 *
 * Models are about one stretch of time. To ask about another one forgets them.
 */
#ifndef MODEL_RECORDED_H
#define MODEL_RECORDED_H

#include "model/cpu_time.h"
#include "model/creators.h"
#include "model/heap.h"
#include "model/moments.h"
#include "model/region_read.h"
#include "model/sources.h"
#include "model/taken_back.h"

enum recorded_reads {                          /* names and threads are always read */
                      RECORDED_RUN = 1,        /* run, up to the end of the stretch */
                      RECORDED_RUN_WHOLE = 2,  /* recorded_whole */
                      RECORDED_HEAP = 4,       /* heap; with the run */
                      RECORDED_CREATORS = 8,   /* creators */
                      RECORDED_CPU = 16,       /* cpu */
                      RECORDED_REGIONS = 32,   /* regions */
                      RECORDED_SOURCES = 64,   /* sources */
                      RECORDED_MOMENTS = 128,  /* moments */
                      RECORDED_FRAMES = 256,   /* frames; with the heap and cpu */
                      RECORDED_LIVED = 512,    /* heap, with the lives of blocks by site */
                      RECORDED_COURSES = 1024, /* heap, with what heap_edges takes of it */
                      RECORDED_BOUND = 2048,   /* of itself, with the heap of a stretch */
                      RECORDED_PEAK = 4096,    /* peak.time_ns, of selection.finer */
                      RECORDED_SEEN = 8192,    /* heap, with what is seen of each stack */
};

#define RECORDED_TAKERS 32

typedef void recorded_take(void *context, const struct trace_event *ev);

struct recorded_bound { /* of the peaks of a stretch: the heap of the whole trace */
    struct heap heap;
    struct threads threads;
    struct run run;
    bool taken;       /* it is read; false: there is no need, */
    uint64_t rest_ns; /* and this is as far as all others are */
    bool open;        /* its own peak takes the events again */
};

struct recorded_peak { /* of a stretch, while the whole is read */
    struct heap heap;
    uint64_t time_ns;
};

struct recorded {
    struct trace *trace;
    struct arena arena; /* of the models */
    struct selection selection;
    unsigned int known; /* RECORDED_*: what was read */
    bool defined;       /* names and threads were */
    struct names names;
    struct frames frames;
    struct threads threads;
    struct run run;
    struct run whole; /* of the whole trace; see recorded_whole */
    struct heap heap;
    struct creators creators;
    struct cpu_time cpu;
    struct region_list regions;
    struct sources sources;
    struct moments moments;
    struct recorded_bound bound;
    struct recorded_peak peak;
    struct taken_back_found never; /* by the first pass that looked into batches, */
    uint64_t never_until_ns;       /* of all that is no later; 0: not known */
    struct {
        run_tick *tick;
        void *context;
    } listeners[RECORDED_TAKERS];
    int listener_count;
    struct {
        recorded_take *take;
        void *context;
    } first[RECORDED_TAKERS];
    int first_count;
    struct {
        recorded_take *take;
        void *context;
        uint64_t until_ns;
    } again[RECORDED_TAKERS];
    int again_count;
};

/* Of an open trace, which outlives it. Nothing is read yet. */
void recorded_open(struct recorded *r, struct trace *t);
void recorded_close(struct recorded *r);

/* Before recorded_read: hear every tick of the run when it is read. */
void recorded_listen(struct recorded *r, run_tick *tick, void *context);

/* The same for every record of the first pass, after the models took it; the heap is read for it.
 */
void recorded_take_first(struct recorded *r, recorded_take *take, void *context);

/* Read what of `reads` is not known yet, in one pass over the trace, or none. */
void recorded_read(struct recorded *r, const struct selection *o, unsigned int reads);

/* recorded_takers.c: the models as takers of the first pass, in the order in which they take a
 * record. */
#define TAKERS 12

struct taker {
    unsigned int reads; /* 0: always, but once */
    void (*begin)(struct recorded *r, unsigned int reads);
    void (*take)(struct recorded *r, const struct trace_event *ev);
    void (*end)(struct recorded *r);
    bool whole; /* it takes what is after the stretch, too */
};

extern const struct taker takers[TAKERS];

/* recorded_bound.c: a taker of the first pass, which sees all of the trace; */
void recorded_bound_begin(struct recorded *r, unsigned int reads);
void recorded_bound_take(struct recorded *r, const struct trace_event *ev);
void recorded_bound_end(struct recorded *r);
/* the heap was read: its peaks are no higher; */
void recorded_bound_heap(struct recorded *r);
/* what takes the events again for it, up to a time; NULL: nobody asks; and when it has. */
struct heap_replay *recorded_bound_replay(const struct recorded *r);
void recorded_bound_again(struct recorded *r);
void recorded_bound_free(struct recorded_bound *b);

/* recorded_peak.c: the same. */
void recorded_peak_begin(struct recorded *r, unsigned int reads);
void recorded_peak_take(struct recorded *r, const struct trace_event *ev);
void recorded_peak_end(struct recorded *r);

/* The run of the whole trace, whatever the stretch. */
const struct run *recorded_whole(const struct recorded *r);

/* Afterwards: take the records up to a time again. */
void recorded_take_again(struct recorded *r, recorded_take *take, void *context, uint64_t until_ns);
/* One pass for all who want it; none where nobody does. */
void recorded_read_again(struct recorded *r);
/* What either pass is: all records up to a time, without frees that were taken back. */
void recorded_pass(struct recorded *r, uint64_t until_ns, recorded_take *take, void *context);

#endif
