/* intake - what a file of another tool tells, on its way into a trace: who allocated and freed
 * what, when and from where.
 *
 * An importer says things in any order; intake_write puts them in the order of their times and
 * writes them as an exact recording. What a file does not tell (CPU time, resident memory, perhaps
 * pids) is not written, and so is absent in every answer.
 */
#ifndef IMPORT_INTAKE_H
#define IMPORT_INTAKE_H

#include "base/arena.h"
#include "base/intmap.h"
#include "trace/store.h"

#include <stdbool.h>

#define INTAKE_FRAMES_MOST 2000 /* of a stack: the innermost ones are told */

enum intake_kind {
    INTAKE_ALLOC,
    INTAKE_FREE,
    INTAKE_SEGMENT, /* memory that a pool has reserved, */
    INTAKE_SEGMENT_END,
    INTAKE_REGION, /* `key` is its name, a text */
    INTAKE_REGION_END,
    INTAKE_MARK, /* the same */
    INTAKE_STEP,
    INTAKE_FAILED, /* memory that was refused; `key` is how that is called, a text */
};

struct intake_event {
    uint64_t time_ns; /* on any clock: the first of them is the trace's origin */
    uint64_t order;   /* among those of one time */
    uint64_t key;     /* which block: its address or number */
    uint64_t bytes;
    uint32_t thread, stack;
    uint32_t info; /* intake_write's own */
    enum intake_kind kind;
};

struct intake_known { /* triples of numbers, each once; numbered from 1 */
    struct intmap first;
    struct intake_triple {
        uint64_t a, b, c;
        uint32_t next; /* of the same hash */
    } * list;
    size_t count, room;
};

struct intake_process {
    uint64_t pid;      /* 0: not known */
    uint64_t device;   /* 1 + what the tool calls it; 0: memory of the host */
    uint64_t name;     /* a text */
    uint64_t reserved; /* in segments */
    struct intmap
        blocks; /* key -> 1 + the place of its allocation among the events; 0: it is freed */
    struct intmap segments;
};

struct intake_thread {
    uint32_t process;
    uint64_t tid, name; /* tid 0: not known */
    uint64_t allocs;
    struct intake_region {
        uint64_t number, name;
    } * open;
    size_t open_count, open_room;
};

struct intake { /* zeroed but for its store and names: nothing was told */
    struct trace_store *store;
    const char *file, *tool; /* what it is read from, for people */
    bool since_1970;         /* the clock of its times */
    struct intake_event *events;
    size_t count, room;
    struct intake_process *processes; /* by number - 1, and so are threads */
    size_t process_room;
    struct intake_thread *threads;
    size_t thread_room;
    struct intake_known frames, stacks, known_processes, known_threads, devices;
    uint64_t module, regions;
    struct trace_pool *pools; /* at the end */
    size_t pool_count, pool_room;
    /* what is to be said of it */
    uint64_t frees_unknown; /* of blocks that were not told of */
    uint64_t alive_twice;   /* blocks that were told of again without a free */
    uint64_t rows_odd;      /* rows that make no sense, as a cut one at the end */
    uint64_t sums_wrong;    /* running sums of the file that are not those of its events */
    const char *lacks;      /* a sentence on what is made up, or NULL */
};

uint64_t intake_text(struct intake *in, const char *text, size_t length);

/* What a process has on one device: its number. The same one again for the same pid and device. */
uint32_t intake_process(struct intake *in, uint64_t pid, uint64_t device, const char *name);
/* `what` tells threads without a tid apart: a stream. `name` may be NULL. */
uint32_t intake_thread(struct intake *in, uint32_t process, uint64_t tid, uint64_t what,
                       const char *name);

/* A line of Python, or a function of native code; `function` and `file` are texts, 0: none. */
uint64_t intake_frame(struct intake *in, bool python, uint64_t function, uint64_t file,
                      uint64_t line);
/* `frame` on top of `parent`; 0: none. */
uint32_t intake_stack(struct intake *in, uint32_t parent, uint64_t frame);

void intake_add(struct intake *in, struct intake_event e);
/* What a pool has in a segment, when the file was written. */
void intake_pool(struct intake *in, struct trace_pool p);

/* All was told: write it. -1 with *err where there is nothing to write. */
int intake_write(struct intake *in, struct err *err);
void intake_free(struct intake *in);

#endif
