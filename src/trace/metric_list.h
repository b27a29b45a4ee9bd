/* metric_list - what a SAMPLE measures, a line each: a part of format.h, and under its rules. A
 * metric is added with the next free number of its range, and never changed.
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

/* X(name, number, text, unit, cumulative), and what it means: the table of FORMAT.md is made from these rows
 * by tools/metric_table. In each range without gaps; 0 is no metric.
 */
#define TRACE_METRICS(X)                                                                           \
    X(RSS, 1, "rss", BYTES, 0) /* resident memory */                                               \
    X(RSS_PEAK, 2, "rss_peak", BYTES, 1)                                                           \
      /* the kernel's own high-water mark of `rss`; of a process that was attached to, the         \
         most that was seen since, until that mark has moved */                                    \
    X(VSZ, 3, "vsz", BYTES, 0) /* address space */                                                 \
    X(VSZ_PEAK, 4, "vsz_peak", BYTES, 1)                                                           \
      /* the kernel's high-water mark of `vsz`; as `rss_peak` */                                   \
    X(SWAP, 5, "swap", BYTES, 0) /* in swap space */                                               \
    X(PSS, 6, "pss", BYTES, 0) /* proportional: shared pages divided by their sharers */           \
    X(RSS_ANON, 7, "rss_anon", BYTES, 0) /* resident, anonymous */                                 \
    X(RSS_FILE, 8, "rss_file", BYTES, 0) /* resident, of files */                                  \
    X(RSS_SHMEM, 9, "rss_shmem", BYTES, 0) /* resident, shared memory and tmpfs */                 \
    X(CPU_NS, 10, "cpu", NS, 1) /* user and system time */                                         \
    X(USER_NS, 11, "cpu_user", NS, 1)                                                              \
    X(SYSTEM_NS, 12, "cpu_system", NS, 1)                                                          \
    X(MINOR_FAULTS, 13, "minor_faults", COUNT, 1) /* page faults without storage */                \
    X(MAJOR_FAULTS, 14, "major_faults", COUNT, 1) /* page faults that waited for storage */        \
    X(THREADS, 15, "threads", COUNT, 0)                                                            \
    X(SWITCHES_WAITED, 16, "voluntary_switches", COUNT, 1)                                         \
      /* the process gave up the CPU to wait */                                                    \
    X(SWITCHES_FORCED, 17, "involuntary_switches", COUNT, 1) /* the CPU was taken from it */       \
    X(READ_CALLS, 18, "read_count", COUNT, 1) /* calls of read(2) and its kin */                   \
    X(WRITE_CALLS, 19, "write_count", COUNT, 1) /* calls of write(2) and its kin */                \
    X(READ_BYTES, 20, "read_bytes", BYTES, 1) /* fetched from storage */                           \
    X(WRITE_BYTES, 21, "write_bytes", BYTES, 1) /* sent to storage */                              \
    X(READ_CHARS, 22, "read_chars", BYTES, 1) /* passed through read(2) and its kin */             \
    X(WRITE_CHARS, 23, "write_chars", BYTES, 1) /* passed through write(2) and its kin */          \
    X(MACHINE_TOTAL, 64, "memory_total", BYTES, 0)                                                 \
    X(MACHINE_FREE, 65, "memory_free", BYTES, 0)                                                   \
    X(MACHINE_AVAILABLE, 66, "memory_available", BYTES, 0)                                         \
      /* what the kernel thinks a new program could have */                                        \
    X(MACHINE_USED, 67, "memory_used", BYTES, 0) /* total − free − cache − buffers */              \
    X(MACHINE_CACHED, 68, "memory_cached", BYTES, 0)                                               \
    X(MACHINE_SHARED, 69, "memory_shared", BYTES, 0) /* tmpfs and shared memory */                 \
    X(MACHINE_SWAP_TOTAL, 70, "swap_total", BYTES, 0)                                              \
    X(MACHINE_SWAP_USED, 71, "swap_used", BYTES, 0)                                                \
    X(MACHINE_CPU_BUSY, 72, "machine_cpu_busy", NS, 1) /* all CPUs */                              \
    X(MACHINE_CPU_ALL, 73, "machine_cpu_all", NS, 1) /* busy and idle, all CPUs */                 \
    X(MACHINE_READS, 74, "disk_reads", COUNT, 1)                                                   \
    X(MACHINE_WRITES, 75, "disk_writes", COUNT, 1)                                                 \
    X(MACHINE_READ_BYTES, 76, "disk_read_bytes", BYTES, 1)                                         \
    X(MACHINE_WRITE_BYTES, 77, "disk_write_bytes", BYTES, 1)                                       \
    X(MACHINE_SWITCHES, 78, "machine_switches", COUNT, 1) /* context switches */                   \
    X(CGROUP_CURRENT, 128, "cgroup_current", BYTES, 0)                                             \
    X(CGROUP_PEAK, 129, "cgroup_peak", BYTES, 1)                                                   \
    X(CGROUP_OOM_KILLS, 130, "cgroup_oom_kills", COUNT, 1)                                         \
    X(DEVICE_USED, 160, "device_used", BYTES, 0)                                                   \
      /* memory of a device that is held: by everybody, or by the process of a use */              \
    X(DEVICE_TOTAL, 161, "device_total", BYTES, 0) /* all that it has */                           \
    X(DEVICE_BUSY, 162, "device_busy", PERMILLE, 0)                                                \
      /* of the time: that it worked, or worked for the process of a use */                        \
    X(DEVICE_RESERVED, 163, "device_reserved", BYTES, 0)                                           \
      /* by its driver, besides `device_used`; absent: the driver does not tell them apart */      \
    X(DEVICE_OURS, 164, "device_ours", BYTES, 0)                                                   \
      /* the part of `device_used` that the recorded processes hold, each block once */            \
    X(DEVICE_SHARED, 165, "device_shared", BYTES, 0)                                               \
      /* of a use: the part that others hold, too */                                               \
    X(PEAK_LOWER, 192, "peak_lower", BYTES, 0)                                                     \
      /* the tree's simultaneous peak is at least this */                                          \
    X(PEAK_UPPER, 193, "peak_upper", BYTES, 0) /* and at most this; absent: not known */           \
    X(PEAK_PSS, 194, "peak_pss", BYTES, 0) /* the greatest `pss` of the tree */                    \
    X(PROCESSES, 195, "processes", COUNT, 0)                                                       \
    X(EXIT_STATUS, 196, "exit_status", COUNT, 0) /* of the command */                              \
    X(RESIDENT_HEAP, 197, "resident_heap", BYTES, 0)                                               \
      /* resident, in what the kernel calls [heap] */                                              \
    X(RESIDENT_STACK, 198, "resident_stack", BYTES, 0)                                             \
      /* resident, in the stacks of the processes and of their recorded threads */                 \
    X(RESIDENT_DATA, 199, "resident_data", BYTES, 0)                                               \
      /* resident, private pages of writable mapped files, and what follows them: data and         \
         bss */                                                                                    \
    X(RESIDENT_FILE, 200, "resident_file", BYTES, 0) /* resident, pages of mapped files */         \
    X(RESIDENT_SHARED, 201, "resident_shared", BYTES, 0) /* resident, shared memory */             \
    X(RESIDENT_ANON, 202, "resident_anon", BYTES, 0)                                               \
      /* resident, all other: further areas of malloc, mappings of the program */

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
