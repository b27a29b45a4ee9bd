/* ring_kinds - the numbers that say in a ring of what kind something is, and which a trace has as
 * they are: src/collect/same.c does not compile where one of them differs. They are only ever
 * added.
 */
#ifndef TRACE_RING_KINDS_H
#define TRACE_RING_KINDS_H

enum ring_origin { /* aux of ALLOC, FREE and SAMPLE; also `origin` of TRACE_ALLOC */
                   RING_BY_MALLOC,
                   RING_BY_CALLOC,
                   RING_BY_REALLOC,
                   RING_BY_ALIGNED, /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc */
                   RING_BY_POOL,    /* the program's own allocator, by tidemark_alloc */
                   RING_BY_PYTHON,  /* the allocators of a Python interpreter */
                   RING_BY_END
};

enum ring_map {
    RING_MAP_ANONYMOUS,
    RING_MAP_FILE,
    RING_MAP_MOVED,
    RING_MAP_ARENA = 4, /* an allocator's, whose blocks are told one by one */
    RING_MAP_SHARED,
    RING_MAP_RESERVED,  /* MAP_NORESERVE */
    RING_MAP_PROTECTED, /* mprotect */
    RING_MAP_END
};

/* Where the time went: one of the first three; COPY: in memcpy or memmove. */
enum ring_cpu { RING_CPU_PYTHON = 1, RING_CPU_NATIVE = 2, RING_CPU_SYSTEM = 3, RING_CPU_COPY = 8 };

enum ring_space_kind { /* of the memory of a space */
                       RING_SPACE_ON_DEVICE,
                       RING_SPACE_PINNED,   /* in the host's memory, where a device reaches it */
                       RING_SPACE_SHARED,   /* it moves between host and device */
                       RING_SPACE_POOL,     /* what a program's own pool has handed out, */
                       RING_SPACE_RESERVED, /* and what it has to hand out */
                       RING_SPACE_KINDS
};

enum ring_access { /* flags; the first four are those of tidemark.h */
                   RING_ACCESS_READ = 1,
                   RING_ACCESS_WRITE = 2,
                   RING_ACCESS_ALL = 4,   /* from here on every access is told, */
                   RING_ACCESS_SOME = 8,  /* and from here on not */
                   RING_ACCESS_SINCE = 16 /* it was in use since the access before it as well */
};

enum ring_watch { /* what happened to memory that is watched */
                  RING_WATCH_BEGAN = 1,
                  RING_WATCH_CHANGED,
                  RING_WATCH_ENDED,
                  RING_WATCH_GONE,    /* it cannot be read */
                  RING_WATCH_WRITTEN, /* told by watching.c */
                  RING_WATCH_LOOKED,  /* number: enum ring_why, why it is looked at alone */
                  RING_WATCH_UNTOLD,  /* number: of writes that were not told one by one */
                  RING_WATCH_FREED,   /* the program has given it back */
                  RING_WATCH_NO_ROOM, /* too many are watched */
                  RING_WATCH_COMMAND, /* of a device, that may write there: see device_watch.c */
                  RING_WATCH_RESULT,  /* the hash after it */
                  RING_WATCH_UNKNOWN, /* the device's object is none that is known */
                  RING_WATCH_NO_SLOT, /* too many of these are watched */
};

enum ring_why {                    /* it is watched by looks alone */
                RING_WHY_KEPT = 0, /* it is not: its pages are kept */
                RING_WHY_UNASKED,
                RING_WHY_SMALL, /* no page lies wholly in it */
                RING_WHY_STACK,
                RING_WHY_READ_ONLY, /* it cannot be written, or not all of it */
                RING_WHY_KERNEL, /* the kernel does not allow it: pages of another size, a filter,
                                    no /proc */
                RING_WHY_MASKED, /* a thread has blocked the signal of a fault */
                RING_WHY_RING,   /* io_uring writes without a call that could be seen */
                RING_WHY_TAKEN,  /* the program has changed its rights, or given it to the kernel to
                                    write into */
                RING_WHY_SIGNALS, /* another handler has taken the place of ours */
                RING_WHY_DEVICE,  /* it is on a device: looks are made around commands */
};

enum ring_command { /* flags: of a device, that may write to watched memory */
                    RING_COMMAND_DECLARED = 1,   /* it says that it writes there, */
                    RING_COMMAND_UNDECLARED = 2, /* or that it does not */
                    RING_COMMAND_BESIDE =
                        4, /* in no order with looks that had not ended, or with other threads */
                    RING_COMMAND_BEFORE = 8 /* none: the look before the first one */
};

#endif
