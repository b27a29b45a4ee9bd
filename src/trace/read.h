/* read - the one decoder of a trace. Everything that looks into one goes through here.
 *
 * It trusts no byte. A trace cut anywhere reads up to the cut; a damaged chunk is stepped over;
 * what was missed is counted in `struct trace_health`, for the report's first line.
 */
#ifndef TRACE_READ_H
#define TRACE_READ_H

#include "base/err.h"
#include "trace/format.h"
#include "trace/trace_health.h"
#include "trace/write.h" /* struct trace_pair, trace_shape_of */

#include <stdbool.h>
#include <stddef.h>

struct trace;

struct trace_event {
    enum trace_kind kind;
    uint64_t time_ns;     /* 0 for definitions */
    unsigned int present; /* how many of the fields were in the record; the others read 0 */
    union {
        uint64_t fields[TRACE_FIELDS_MOST];
        struct trace_string string;
        struct trace_fact fact;
        struct trace_process process;
        struct trace_process_end process_end;
        struct trace_thread thread;
        struct trace_copy copy;
        struct trace_unreached unreached;
        struct trace_thread_end thread_end;
        struct trace_sample sample;
        struct trace_device device;
        struct trace_map map;
        struct trace_unmap unmap;
        struct trace_frame frame;
        struct trace_name name;
        struct trace_stack stack;
        struct trace_alloc alloc;
        struct trace_free free;
        struct trace_cpu cpu;
        struct trace_wait wait;
        struct trace_region region;
        struct trace_region_end region_end;
        struct trace_mark mark;
        struct trace_label label;
        struct trace_source source;
        struct trace_loss loss;
        struct trace_alert alert;
        struct trace_infos infos;
        struct trace_batch batch;
        struct trace_module module;
        struct trace_mmap mmap;
        struct trace_munmap munmap;
        struct trace_stacks stacks;
        struct trace_context context;
        struct trace_info_context info_context;
        struct trace_resident resident;
        struct trace_space space;
        struct trace_access access;
        struct trace_op op;
        struct trace_op_end op_end;
        struct trace_started started;
        struct trace_pool pool;
        struct trace_watch watch;
        struct trace_space_alloc space_alloc;
        struct trace_space_free space_free;
        struct trace_space_failed space_failed;
        struct trace_launches launches;
        struct trace_described described;
    };
    const unsigned char *tail; /* valid until the next call of trace_next or trace_close */
    size_t tail_bytes;
};

/* Open a trace file; NULL with *err (no such file, not a trace, from a newer version, empty). */
struct trace *trace_open(const char *path, struct err *err);
/* The same over bytes in memory, which must outlive it. */
struct trace *trace_open_bytes(const void *data, size_t size, const char *name, struct err *err);
void trace_close(struct trace *t);

/* After reading: -1 with *err when the file became shorter meanwhile. */
int trace_check(const struct trace *t, const char *path, struct err *err);

const struct trace_header *trace_header(const struct trace *t);
/* Bytes of the file: what the work that it may cause is measured by. */
uint64_t trace_size(const struct trace *t);

/* When the recording ended, as the heads of its chunks say; 0: it has no events. Reads no record.
 */
uint64_t trace_last_ns(const struct trace *t);

/* Start again from the beginning, with only the events of [from_ns, to_ns] (and all definitions).
 * A trace that was just opened stands at the beginning with all of them.
 */
void trace_rewind(struct trace *t, uint64_t from_ns, uint64_t to_ns);

/* Start again with definitions alone, of a trace that this process is writing: its events are not
 * unpacked, not even to see whether it is whole.
 */
void trace_rewind_own(struct trace *t);

/* Damage to what is after a time is not told of in this pass. */
void trace_judge(struct trace *t, uint64_t to_ns);

/* Events after a time are not wanted in the rest of this pass. */
void trace_narrow(struct trace *t, uint64_t to_ns);

/* How often it was read from its beginning, at least in part. */
uint64_t trace_passes(const struct trace *t);

/* 1: *ev is the next record; 0: the end. Kinds unknown to this version are stepped over. */
int trace_next(struct trace *t, struct trace_event *ev);

/* Where the record is that trace_next has given: after all before it, and the same in each pass. */
uint64_t trace_place(const struct trace *t);

/* Take the next (metric, value) from a tail of pairs; false at its end. */
bool trace_next_pair(struct trace_event *ev, struct trace_pair *pair);

/* Complete only after trace_next returned 0. */
struct trace_health trace_health(const struct trace *t);

#endif
