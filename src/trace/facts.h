/* facts - the keys of FACT records, in one list: what is known once of a subject, as text. A
 * stranger's trace may have others, and lack any of these. No other spelling of a key stands in the
 * code.
 */
#ifndef TRACE_FACTS_H
#define TRACE_FACTS_H

/* Of the run. */
#define FACT_VERSION "version"      /* of the recorder */
#define FACT_ARGV "argv"            /* the words of the command, with a zero byte between two */
#define FACT_COMMAND "command"      /* the same for reading, in one line */
#define FACT_WATCHED "watched_pids" /* processes that ran already, in one line */
#define FACT_CWD "cwd"              /* the folder it was started in */
#define FACT_MODE "mode"            /* how processes were watched: sampled, taskstats, ptrace */
#define FACT_INTERVAL "interval_ns" /* between two samples */
#define FACT_RECORDER_PID "recorder_pid"
#define FACT_DURATION "duration_ns"
#define FACT_SAMPLE_COST "sample_cost_ns"   /* what one sample took; 0: not measured */
#define FACT_LONGEST_TICK "longest_tick_ns" /* of an exact recording: no time is known better */
#define FACT_PEAK_BASIS "peak_basis"        /* where the bounds of the peak are from */
#define FACT_OUTCOME "outcome"              /* how the command ended */
#define FACT_ATTACHED "attached" /* the pid of a process that ran before it was recorded */
#define FACT_RECORDED "recorded" /* how allocations are recorded: exact, sampled, no */
#define FACT_SAMPLE_MEAN                                                                           \
    "sample_mean"               /* bytes from one sampled allocation to the next: asked for */
#define FACT_WHOLE "whole_from" /* sampled, but for blocks of so many bytes and more: asked for */
#define FACT_WINDOWS "windows"  /* only in these blocks have stacks: steps, or "deferred" */
#define FACT_CPU "cpu"          /* CPU time is sampled */
#define FACT_COPIES "copies"    /* copies are sampled */
#define FACT_WATCH "watch"      /* tensors that were to be watched: patterns, one a line */
#define FACT_OPS "ops"          /* operators were asked for */
#define FACT_PROGRAMS_STARTED "programs_started" /* how many, by the command and all it started */
#define FACT_PROGRAMS_REACHED "programs_reached" /* how many of these the library has begun in */
#define FACT_PROGRAMS_UNTOLD                                                                       \
    "programs_untold"            /* why there may be others; what follows "unknown: " */
#define FACT_IMPORTED "imported" /* what kind of file of another tool it is made from */
#define FACT_SOURCES_CHANGED "sources_changed" /* files that changed after the recording began */

#define FACT_SPACE_BUS                                                                             \
    "bus_of_" /* with the name of a space behind it: where its device is, as "0000:03:00.0"; else  \
                 "several" */

/* which are not there or no longer read, and why */
#define FACT_DEVICES_MISSING "devices_missing"

/* Of a device. */
#define FACT_DEVICE_LABEL "label" /* as --device takes it */
#define FACT_DEVICE_SPACE                                                                          \
    "space" /* the name under which programs allocate on it, where that is known */
#define FACT_DEVICE_BUS "bus"   /* where it is, as "0000:03:00.0" */
#define FACT_DEVICE_WAY "way"   /* by what it was read */
#define FACT_DEVICE_NOTE "note" /* what is not known of it, and why */

/* Of the machine. */
#define FACT_CPUS "cpus" /* online */
#define FACT_PAGE "page_bytes"
#define FACT_CLOCK_TICKS "clock_ticks" /* in a second, of start_ticks */
#define FACT_MEMORY_TOTAL "memory_total_bytes"
#define FACT_KERNEL "kernel" /* its release */
#define FACT_HOSTNAME "hostname"

/* Of a process. */
#define FACT_RAN "ran" /* its command, if it was born under that of what it became by exec */
#define FACT_PID "pid" /* why its pid is not known */
#define FACT_UNRECORDED "unrecorded"      /* why it was not recorded from inside */
#define FACT_STOOD_STILL "stood_still_ns" /* how long it did the last time, to be looked at */
#define FACT_DEVICE                                                                                \
    "device"             /* which one its memory is on, from 0: it is what a program has there */
#define FACT_RANK "rank" /* of a distributed program, from 0, */
#define FACT_RANK_BY                                                                               \
    "rank_by" /* by which variable of its environment; "tidemark_rank": by its word */
#define FACT_LOCAL_RANK "local_rank"       /* the same among those of its machine */
#define FACT_WORLD_SIZE "world_size"       /* how many ranks there are */
#define FACT_PYTHON "python"               /* the version of its interpreter */
#define FACT_PYTHON_UNREAD "python_unread" /* why its lines are not read, with its version */

/* Of a module. */
#define FACT_UNNAMED "unnamed" /* why some of its functions have no name, in one sentence */

#endif
