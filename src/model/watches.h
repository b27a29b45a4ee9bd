/* watches - memory that was watched (WATCH), who wrote to it and who changed it: a pure function
 * over the records of a trace.
 *
 * A write to a page that was kept from it has its thread, its stack and its byte. Those that a
 * thread makes one after the other from one place are one row, unless the program has said
 * something in between.
 *
 * A look finds that it has changed since the look before; both are where the program said
 * something. So a change belongs to the innermost region of the thread that looked, if one is open
 * there, and happened after what was said before. Whether an operator has declared the write is
 * known where it tells its accesses.
 */
#ifndef MODEL_WATCHES_H
#define MODEL_WATCHES_H

#include "model/threads.h"

#define WATCHES_MOST ((size_t)1 << 20) /* of each kind that is kept */

enum watch_declared { WATCH_UNKNOWN, WATCH_DECLARED, WATCH_UNDECLARED };

enum watch_since { WATCH_SINCE_NOTHING, WATCH_SINCE_BEGIN, WATCH_SINCE_END, WATCH_SINCE_MARK };

struct watch_block {
    uint64_t process, address, bytes, name;
    uint64_t from_ns, to_ns; /* to_ns UINT64_MAX: to the end */
    uint64_t ended;          /* enum trace_watch_kind: how; 0: it did not */
    bool dead;               /* it was freed before it was watched */
    uint64_t why; /* enum trace_watch_why: that it was only looked at, at last; 0: it was guarded */
    uint64_t changes;
    size_t first;            /* the place of the first one */
    uint64_t writes, untold; /* that were met one by one; and more of them, that have no row */
    size_t first_write;
    uint64_t commands,
        unknown; /* of a device; of how many it is not known whether they changed it */
};

struct watch_write { /* by one thread, from one place of the code */
    size_t block;
    uint64_t time_ns, thread, stack;
    uint64_t from,
        to; /* offsets: the first byte that was written to, and after the last one that is known */
    uint64_t times;
    uint64_t last, until_ns; /* the last one: its offset, and when */
    uint64_t call;           /* by which the kernel wrote: its name; 0: the instruction did */
    uint64_t by;
    enum watch_since since;
    uint64_t since_name, said; /* said: how often the program had said something */
    enum watch_declared declared;
};

struct watch_change {
    size_t block;
    uint64_t time_ns, thread, stack;
    uint64_t by; /* a region's name; 0: in none */
    enum watch_since since;
    uint64_t since_name;
    enum watch_declared declared;
    bool command; /* `by` is one of a device; */
    bool beside;  /* it, or what ran beside it or was not looked at */
};

struct watch_look { /* after a command of a device */
    struct watch_change change;
    uint64_t process, number, flags;
    bool read;
    uint64_t hash, until_ns; /* if so */
};

struct watch_hash { /* that a look has found */
    uint64_t process, number, hash, time_ns;
};

struct watches { /* zeroed but for its threads: empty */
    struct threads *threads;
    struct watch_block *blocks;
    size_t block_count, block_room;
    struct watch_change *changes;
    size_t change_count, change_room;
    struct watch_write *writes;
    size_t write_count, write_room;
    struct watch_process *processes;
    size_t process_count, process_room;
    struct intmap places;         /* of processes: 1 + place */
    struct watch_region *regions; /* that are open */
    size_t region_count, region_room;
    struct watch_look *looks; /* until watch_looks_join */
    size_t look_count, look_room;
    struct watch_hash *hashes;
    size_t hash_count, hash_room;
    uint64_t left_out;
};

/* Is a write from the same place the next one of a row? One that goes on upwards is, and one that
 * follows at once; else the code has come there again, which is another row.
 */
bool watches_goes_on(const struct watch_write *row, const struct watch_write *next);
void watches_extend(struct watch_write *row, const struct watch_write *by);
/* A write to a block. One without a stack of its own has that of the one before. */
void watches_put(struct watches *w, struct watch_block *b, struct watch_write *next);

void watches_take(void *watches, const struct trace_event *ev);
void watches_free(struct watches *w);

#endif
