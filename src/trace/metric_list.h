/* metric_list - what a SAMPLE measures, a line each: a part of format.h, and under its rules. A metric is
 * added with the next free number of its range, and never changed.
 */
#ifndef TRACE_METRIC_LIST_H
#define TRACE_METRIC_LIST_H

/* Units of a metric. A cumulative one only grows while its subject lives. */
enum trace_unit { TRACE_UNIT_BYTES, TRACE_UNIT_NS, TRACE_UNIT_COUNT, TRACE_UNIT_PERMILLE };

// clang-format off
/* X(whose, first, end): which numbers the metrics of a subject have. The run has those of a process,
 * too; the use of a device by a process has those of a device.
 */
#define TRACE_METRIC_RANGES(X)                                                                     \
    X(PROCESS, 0, 64)                                                                              \
    X(MACHINE, 64, 128)                                                                            \
    X(CGROUP, 128, 160)                                                                            \
    X(DEVICE, 160, 192)                                                                            \
    X(RUN, 192, 256)

enum trace_metric_range {
#define X(whose, first, end) TRACE_FIRST_OF_##whose = first, TRACE_END_OF_##whose = end,
    TRACE_METRIC_RANGES(X)
#undef X
};

/* X(name, number, text, unit, cumulative). In each range without gaps; 0 is no metric. */
#define TRACE_METRICS(X)                                                                           \
    X(RSS, 1, "rss", BYTES, 0)                                                                     \
    X(RSS_PEAK, 2, "rss_peak", BYTES, 1) /* the kernel's own high-water mark */                    \
    X(VSZ, 3, "vsz", BYTES, 0)                                                                     \
    X(VSZ_PEAK, 4, "vsz_peak", BYTES, 1)                                                           \
    X(SWAP, 5, "swap", BYTES, 0)                                                                   \
    X(PSS, 6, "pss", BYTES, 0) /* proportional: shared pages divided by sharers */                 \
    X(RSS_ANON, 7, "rss_anon", BYTES, 0)                                                           \
    X(RSS_FILE, 8, "rss_file", BYTES, 0)                                                           \
    X(RSS_SHMEM, 9, "rss_shmem", BYTES, 0)                                                         \
    X(CPU_NS, 10, "cpu", NS, 1) /* user and system */                                              \
    X(USER_NS, 11, "cpu_user", NS, 1)                                                              \
    X(SYSTEM_NS, 12, "cpu_system", NS, 1)                                                          \
    X(MINOR_FAULTS, 13, "minor_faults", COUNT, 1)                                                  \
    X(MAJOR_FAULTS, 14, "major_faults", COUNT, 1)                                                  \
    X(THREADS, 15, "threads", COUNT, 0)                                                            \
    X(SWITCHES_WAITED, 16, "voluntary_switches", COUNT, 1)                                         \
    X(SWITCHES_FORCED, 17, "involuntary_switches", COUNT, 1)                                       \
    X(READ_CALLS, 18, "read_count", COUNT, 1)                                                      \
    X(WRITE_CALLS, 19, "write_count", COUNT, 1)                                                    \
    X(READ_BYTES, 20, "read_bytes", BYTES, 1)   /* fetched from storage */                         \
    X(WRITE_BYTES, 21, "write_bytes", BYTES, 1) /* sent to storage */                              \
    X(READ_CHARS, 22, "read_chars", BYTES, 1)   /* passed through read(2) and its kin */           \
    X(WRITE_CHARS, 23, "write_chars", BYTES, 1)                                                    \
    X(MACHINE_TOTAL, 64, "memory_total", BYTES, 0)                                                 \
    X(MACHINE_FREE, 65, "memory_free", BYTES, 0)                                                   \
    X(MACHINE_AVAILABLE, 66, "memory_available", BYTES, 0)                                         \
    X(MACHINE_USED, 67, "memory_used", BYTES, 0) /* total - free - cache - buffers */              \
    X(MACHINE_CACHED, 68, "memory_cached", BYTES, 0)                                               \
    X(MACHINE_SHARED, 69, "memory_shared", BYTES, 0) /* tmpfs and shared memory */                 \
    X(MACHINE_SWAP_TOTAL, 70, "swap_total", BYTES, 0)                                              \
    X(MACHINE_SWAP_USED, 71, "swap_used", BYTES, 0)                                                \
    X(MACHINE_CPU_BUSY, 72, "machine_cpu_busy", NS, 1)                                             \
    X(MACHINE_CPU_ALL, 73, "machine_cpu_all", NS, 1) /* busy and idle, all CPUs */                 \
    X(MACHINE_READS, 74, "disk_reads", COUNT, 1)                                                   \
    X(MACHINE_WRITES, 75, "disk_writes", COUNT, 1)                                                 \
    X(MACHINE_READ_BYTES, 76, "disk_read_bytes", BYTES, 1)                                         \
    X(MACHINE_WRITE_BYTES, 77, "disk_write_bytes", BYTES, 1)                                       \
    X(MACHINE_SWITCHES, 78, "machine_switches", COUNT, 1)                                          \
    X(CGROUP_CURRENT, 128, "cgroup_current", BYTES, 0)                                             \
    X(CGROUP_PEAK, 129, "cgroup_peak", BYTES, 1)                                                   \
    X(CGROUP_OOM_KILLS, 130, "cgroup_oom_kills", COUNT, 1)                                         \
    X(DEVICE_USED, 160, "device_used", BYTES, 0)                                                   \
    X(DEVICE_TOTAL, 161, "device_total", BYTES, 0)                                                 \
    X(DEVICE_BUSY, 162, "device_busy", PERMILLE, 0)                                                \
    X(DEVICE_RESERVED, 163, "device_reserved", BYTES, 0) /* by its driver, besides what is used */    \
    X(DEVICE_OURS, 164, "device_ours", BYTES, 0) /* of what is used: by the recorded processes */     \
    X(DEVICE_SHARED, 165, "device_shared", BYTES, 0) /* of that: what others hold, too */             \
    X(PEAK_LOWER, 192, "peak_lower", BYTES, 0) /* the tree's simultaneous peak is at least */      \
    X(PEAK_UPPER, 193, "peak_upper", BYTES, 0) /* and at most; absent: not known */                \
    X(PEAK_PSS, 194, "peak_pss", BYTES, 0)                                                         \
    X(PROCESSES, 195, "processes", COUNT, 0)                                                       \
    X(EXIT_STATUS, 196, "exit_status", COUNT, 0)                                                   \
    X(RESIDENT_HEAP, 197, "resident_heap", BYTES, 0) /* the kernel's [heap] */                     \
    X(RESIDENT_STACK, 198, "resident_stack", BYTES, 0)                                             \
    X(RESIDENT_DATA, 199, "resident_data", BYTES, 0) /* of programs and libraries */               \
    X(RESIDENT_FILE, 200, "resident_file", BYTES, 0)                                               \
    X(RESIDENT_SHARED, 201, "resident_shared", BYTES, 0)                                           \
    X(RESIDENT_ANON, 202, "resident_anon", BYTES, 0) /* the rest */

enum trace_metric {
#define X(name, number, text, unit, cumulative) METRIC_##name = number,
    TRACE_METRICS(X)
#undef X
        METRIC_END = 256
};

enum {
#define X(name, number, text, unit, cumulative) +1
    TRACE_METRIC_COUNT = 0 TRACE_METRICS(X)
#undef X
};

// clang-format on

#endif
