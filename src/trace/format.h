/* format - every byte of a .tide file. docs/FORMAT.md says the same in prose, with offsets.
 *
 *   file   = header chunk*                 all integers little-endian
 *   chunk  = struct trace_chunk, then `stored` bytes: one zstd frame that holds records
 *   record = kind, length, payload         kind and length are varints
 *
 * The payload of a record is, in this order: its time (kinds that have one), its fields, its tail.
 *   varint  unsigned LEB128, at most 10 bytes
 *   time    zigzag varint: ns since the previous time in this chunk (the first: since the header's
 *           clock origin)
 *   field   varint; the struct of the same name below gives the fields in order. Fields may be
 *           missing at the end of a payload: absent, which is not zero. More fields than the reader
 *           knows are stepped over where the kind has no tail.
 *   tail    the rest of the payload: bytes, or pairs of varints (metric, value)
 *
 * The nouns. *string*: text named by a number. *process*: one incarnation, new on fork and on exec,
 * numbered from 1 in a trace, never a pid. *thread*: numbered from 1 in a trace, belongs to one
 * process. *frame*: one address or line of code. *stack*: a frame and the stack that called it.
 * *subject*: what a sample or fact is about. Number 0 always means "none".
 *
 * A definition is written before anything that refers to it, in a chunk of its own kind, so that a
 * question about a stretch of time reads all definitions and only the event chunks of that stretch.
 * Kinds, fields, metrics and subjects are only added, never changed; a reader steps over what it
 * does not know. This file is shared with the code inside the target: libc only, no functions.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include "trace/facts.h"
#include "trace/metric_list.h"

#include <stdint.h>

#define TRACE_MAGIC "\211TIDE\r\n\n"  /* 8 bytes; as PNG's, it shows a damaging transfer */
#define TRACE_VERSION 1               /* readers refuse a trace whose `least` is above this */
#define TRACE_CHUNK_MAGIC 0x4b4e4854u /* "THNK" */
#define TRACE_CHUNK_MOST (4u << 20)   /* bytes of records in a chunk, at most */

struct trace_header { /* at offset 0 */
    unsigned char magic[8];
    uint16_t version; /* of the writer */
    uint16_t least;   /* the oldest reader that understands it */
    uint32_t bytes;   /* of this header; chunks start there */
    uint64_t mono_ns; /* clock origin: CLOCK_MONOTONIC; every time in the trace is relative to it */
    uint64_t real_ns; /* the same instant as CLOCK_REALTIME */
    unsigned char id[16]; /* random: which run this is */
    uint64_t reserved[2];
};

enum trace_chunk_kind {
    TRACE_CHUNK_DEFINITIONS = 1, /* records without a time */
    TRACE_CHUNK_EVENTS = 2,      /* records with a time */
};

struct trace_chunk {
    uint32_t magic;
    uint8_t kind;
    uint8_t codec; /* 1: one zstd frame with content size and checksum */
    uint16_t reserved;
    uint32_t stored; /* bytes that follow this header */
    uint32_t raw;    /* bytes of records in them */
    uint32_t records;
    uint32_t sequence;          /* 0, 1, 2 ... over the file; a gap is a lost chunk */
    uint64_t first_ns, last_ns; /* the least and the greatest time in it; 0 for definitions */
};

enum trace_tail { TRACE_TAIL_NONE, TRACE_TAIL_BYTES, TRACE_TAIL_PAIRS };

// clang-format off
/* X(name, number, has a time, number of fields, tail) */
#define TRACE_KINDS(X)                                                                             \
    X(STRING, 1, 0, 1, BYTES)     /* text with a number */                                         \
    X(FACT, 2, 0, 3, BYTES)       /* what is known once of a subject: key and text */              \
    X(PROCESS, 3, 1, 7, NONE)     /* a process came to be */                                       \
    X(PROCESS_END, 4, 1, 3, NONE) /* and ended */                                                  \
    X(THREAD, 5, 1, 7, NONE)      /* a thread came to be */                                        \
    X(THREAD_END, 6, 1, 1, NONE)  /* and ended */                                                  \
    X(SAMPLE, 7, 1, 2, PAIRS)     /* measured numbers of one subject */                            \
    X(DEVICE, 8, 0, 4, NONE)      /* an accelerator */                                             \
    X(MAP, 9, 1, 7, NONE)         /* a mapping of code or data appeared */                         \
    X(UNMAP, 10, 1, 3, NONE)      /* and went */                                                   \
    X(FRAME, 11, 0, 4, NONE)      /* one address or line of code */                                \
    X(NAME, 12, 0, 5, NONE)       /* what a frame is called; depth 0: the innermost inlined one */\
    X(STACK, 13, 0, 3, NONE)      /* a frame on top of a stack */                                  \
    X(ALLOC, 14, 1, 7, NONE)      /* memory came to life */                                        \
    X(FREE, 15, 1, 4, NONE)       /* memory died */                                                \
    X(CPU, 16, 1, 4, NONE)        /* CPU time burned at a stack */                                 \
    X(WAIT, 17, 1, 4, NONE)       /* time spent waiting at a stack */                              \
    X(REGION, 18, 1, 4, NONE)     /* a named span of the program began */                          \
    X(REGION_END, 19, 1, 2, NONE) /* and ended */                                                  \
    X(MARK, 20, 1, 5, NONE)       /* a named moment */                                             \
    X(LABEL, 21, 1, 3, NONE)      /* from now on this thread works for key = value */              \
    X(SOURCE, 22, 0, 2, BYTES)    /* the text of one source line */                                \
    X(LOSS, 23, 1, 4, BYTES)      /* what was not recorded, and why */                             \
    X(ALERT, 24, 1, 4, BYTES)     /* a limit was crossed */                                        \
    X(END, 25, 1, 0, NONE)        /* the recording ended in good order */                          \
    X(INFOS, 26, 0, 3, BYTES)     /* sizes with stacks, which BATCH refers to; see below */        \
    X(BATCH, 27, 1, 3, BYTES)     /* many allocations and frees of a process; see below */         \
    X(MODULE, 28, 0, 3, NONE)     /* a file of code that frames are in */                          \
    X(MMAP, 29, 1, 8, NONE)       /* memory that the program took from the kernel itself */        \
    X(MUNMAP, 30, 1, 3, NONE)     /* and gave back: any part of it */                              \
    X(STACKS, 31, 0, 2, BYTES)    /* many stacks in a row; see below */                            \
    X(COPY, 32, 1, 4, NONE)       /* memory was copied */                                          \
    X(CONTEXT, 33, 0, 3, PAIRS)   /* the step and labels under which blocks were allocated */      \
    X(UNREACHED, 34, 1, 3, NONE)  /* live blocks that nothing pointed to */                        \
    X(INFO_CONTEXT, 35, 0, 4, NONE) /* of which infos a context is */                              \
    X(RESIDENT, 36, 1, 6, NONE)   /* what was resident of a large block or a mapping */            \
    X(SPACE, 37, 0, 3, NONE)      /* memory besides the host's heap */                             \
    X(SPACE_ALLOC, 38, 1, 8, NONE) /* memory in it came to life */                                 \
    X(SPACE_FREE, 39, 1, 4, NONE) /* and died */                                                   \
    X(SPACE_FAILED, 40, 1, 7, NONE) /* and was asked for in vain */                                \
    X(LAUNCHES, 41, 1, 7, NONE)   /* work that was handed to a device */                           \
    X(DESCRIBED, 42, 1, 5, NONE)  /* what a block is for, by the program's word */                 \
    X(ACCESS, 43, 1, 6, NONE)     /* somebody read or wrote memory */                              \
    X(POOL, 44, 1, 7, NONE)       /* what a pool has in one of its segments */\
    X(WATCH, 45, 1, 6, NONE)      /* memory whose content is watched */                            \
    X(OP, 46, 1, 2, NONE)         /* an operator of a framework began in a thread */               \
    X(OP_END, 47, 1, 1, NONE)     /* the innermost of that thread ended */                         \
    X(STARTED, 48, 1, 3, NONE)    /* a thread started a program */

enum trace_kind {
#define X(name, number, timed, fields, tail) TRACE_##name = number,
    TRACE_KINDS(X)
#undef X
        TRACE_KIND_LAST = TRACE_STARTED
};

enum trace_subject { /* what the `id` beside it numbers */
    TRACE_OF_RUN = 0,     /* id 0: the whole recording, every process in it */
    TRACE_OF_MACHINE = 1, /* id 0 */
    TRACE_OF_PROCESS = 2,
    TRACE_OF_THREAD = 3,
    TRACE_OF_DEVICE = 4,
    TRACE_OF_DEVICE_USE = 5, /* id = device << 32 | process */
    TRACE_OF_CGROUP = 6,     /* id 0: the command's own */
    TRACE_OF_MODULE = 7,
};

enum trace_born { TRACE_BORN_LAUNCHED, TRACE_BORN_FOUND, TRACE_BORN_FORKED, TRACE_BORN_EXECED };

enum trace_end {
    TRACE_END_UNKNOWN,  /* seen alive, then gone */
    TRACE_END_EXITED,   /* status is the exit code */
    TRACE_END_SIGNALED, /* status is the signal */
    TRACE_END_EXECED,   /* went on as another incarnation */
    TRACE_END_OUTLIVED, /* still ran when the recording ended */
    TRACE_END_OOM,      /* killed for lack of memory */
};

struct trace_string { uint64_t string; };
struct trace_fact { uint64_t subject, id, key; };
struct trace_process { uint64_t process, parent, pid, start_ticks, born, name, command; };
struct trace_process_end { uint64_t process, end, status; };
struct trace_thread { uint64_t thread, process, tid, name, stack_low, stack_bytes, creator; };
struct trace_thread_end { uint64_t thread; };
struct trace_sample { uint64_t subject, id; };
struct trace_device { uint64_t device, vendor, name, uuid; };
struct trace_map { uint64_t process, start, length, offset, protection, file, build_id; };
struct trace_unmap { uint64_t process, start, length; };
struct trace_frame { uint64_t frame, flavour, process, address; };
struct trace_name { uint64_t frame, depth, function, file, line; };
struct trace_stack { uint64_t stack, parent, frame; };
struct trace_alloc { uint64_t thread, address, bytes, stack, origin, weight, context; };
struct trace_free { uint64_t thread, address, origin, later; };
struct trace_cpu { uint64_t thread, stack, ns, cpu_kind; };
struct trace_wait { uint64_t thread, stack, ns, cause; };
struct trace_region { uint64_t thread, region, name, parent; };
struct trace_region_end { uint64_t thread, region; };
struct trace_mark { uint64_t thread, mark_kind, name, value, step; };
struct trace_label { uint64_t thread, key, value; };
struct trace_source { uint64_t file, line; };
struct trace_loss { uint64_t process, what, count, bytes; };
struct trace_alert { uint64_t process, metric, limit, value; };
struct trace_infos { uint64_t process, first, count; };
struct trace_batch { uint64_t process, events, span_ns; };
struct trace_module { uint64_t module, file, build_id; }; /* build_id: a string in hexadecimal */
struct trace_mmap { uint64_t thread, address, bytes, stack, protection, mmap_kind, object, context; };
struct trace_munmap { uint64_t thread, address, bytes; };
struct trace_stacks { uint64_t first, count; };
struct trace_copy { uint64_t thread, stack, bytes, weight; };
struct trace_unreached { uint64_t process, info, blocks; };
struct trace_context { uint64_t context, process, step; }; /* step absent: not kept */
struct trace_info_context { uint64_t process, context, first, count; };
struct trace_resident { uint64_t process, address, bytes, resident, stack, memory; };
struct trace_space { uint64_t space, name, space_kind; };
struct trace_space_alloc { uint64_t thread, block, bytes, stack, space, call, context, address; };
struct trace_space_free { uint64_t thread, block, space, later; };
struct trace_space_failed { uint64_t thread, bytes, stack, space, call, status, times; };
struct trace_launches { uint64_t thread, stack, call, count, given, read, written; };
struct trace_described { uint64_t thread, address, what, name, info; }; /* info: where blocks have no addresses */
struct trace_access { uint64_t thread, address, bytes, access_kind, name, space; }; /* space absent: the host's */
struct trace_pool { uint64_t thread, address, bytes, blocks, used, largest_free, requested; };
struct trace_watch { uint64_t thread, address, watch_kind, name, bytes, stack; };
struct trace_op { uint64_t thread, name; };
struct trace_op_end { uint64_t thread; };
struct trace_started { uint64_t thread, pid, stack; }; /* the pid may be its own: after fork or vfork, or to go on as another */

#define TRACE_FIELDS_MOST 8
// clang-format on

/* `flavour` of a FRAME: low bits what it is, and flags. Addresses are return addresses, so the
 * call is at address - 1.
 */
enum trace_flavour {
    TRACE_FRAME_ADDRESS = 0, /* address in the memory of `process`: made at run time */
    TRACE_FRAME_MODULE = 1,  /* `process` numbers a MODULE; address as in its file */
    TRACE_FRAME_ELIDED = 2,  /* frames of a very deep stack were left out here */
    TRACE_FRAME_CUT = 3,     /* the stack could not be followed further */
    TRACE_FRAME_PYTHON =
        4, /* a line of Python: NAME says which; address: the function's first line */
    TRACE_FRAME_OUTSIDE =
        5, /* no frame: outside of the windows nobody looked for stacks; address 1: after one */
    TRACE_FRAME_GUESSED = 8, /* flag: found by frame pointer, for lack of unwind data */
};

enum trace_origin { /* of ALLOC, FREE and INFOS */
                    TRACE_BY_MALLOC,
                    TRACE_BY_CALLOC,
                    TRACE_BY_REALLOC,
                    TRACE_BY_ALIGNED,
                    TRACE_BY_POOL,   /* the program's own allocator */
                    TRACE_BY_PYTHON, /* those of a Python interpreter */
};

/* `space_kind`: where the memory of a space is. Spaces are never added up. */
enum trace_space_kind {
    TRACE_SPACE_DEVICE = 0,
    TRACE_SPACE_PINNED = 1,   /* in the host's memory, where a device reaches it */
    TRACE_SPACE_SHARED = 2,   /* wherever it is used: it moves between host and device */
    TRACE_SPACE_POOL = 3,     /* within other memory: what a program's own pool has handed out */
    TRACE_SPACE_RESERVED = 4, /* the same: what such a pool has to hand out */
};
#define TRACE_SPACE_KINDS (TRACE_SPACE_RESERVED + 1)

/* `cpu_kind`: where the program counter was; COPY is a flag: in memcpy or memmove. */
enum trace_cpu_kind {
    TRACE_CPU_PYTHON = 1,
    TRACE_CPU_NATIVE = 2,
    TRACE_CPU_SYSTEM = 3,
    TRACE_CPU_COPY = 8,
};

enum trace_mark_kind {
    TRACE_MARK_MOMENT = 0,
    TRACE_MARK_STEP = 1,
    TRACE_MARK_PROFILED = 2, /* reports shall show this function; name: FILE:LINE:FUNCTION */
    TRACE_MARK_PAUSE = 3,    /* no new allocation was recorded from here on; thread 0: of anybody */
    TRACE_MARK_RESUME = 4,
    TRACE_MARK_SNAPSHOT = 5, /* somebody is interested in what lives here */
    TRACE_MARK_FINALIZING =
        6,                 /* an interpreter ends: it frees what its program held from here on */
    TRACE_MARK_WHOLE = 7,  /* from here on every block of `value` bytes and more is recorded of the
                              thread's process, and smaller ones are sampled; name: the library that
                              it is for, 0: there were too many of these, or no longer */
    TRACE_MARK_WINDOW = 8, /* from here on blocks of the thread's process have their stacks; thread
                              0: of everybody's; value: how many of its steps have ended */
    TRACE_MARK_WINDOW_END = 9,
};

/* `access_kind`: flags. READ and WRITE are of the memory at `address`, by the operator or kernel
 * `name`; ALL and SOME have no address: from here on every access to tensors of the process is
 * told, or no longer. In a `space` besides the host's, `address` is that of its SPACE_ALLOC, and
 * ALL is of every block.
 */
enum trace_access_kind {
    TRACE_ACCESS_READ = 1,
    TRACE_ACCESS_WRITE = 2,
    TRACE_ACCESS_ALL = 4,
    TRACE_ACCESS_SOME = 8,
    TRACE_ACCESS_SINCE = 16, /* flag: and it was in use since the access before it */
};

enum trace_watch_kind {
    TRACE_WATCH_BEGAN = 1,
    TRACE_WATCH_CHANGED = 2, /* since the look before, at the last region, step or mark */
    TRACE_WATCH_ENDED = 3,
    TRACE_WATCH_GONE = 4, /* it cannot be read */
    TRACE_WATCH_WRITTEN =
        5, /* address: the byte; bytes: how many, 0: not known; name: a call by which the
                                kernel wrote; stack 0: as in the thread's last one, which went on */
    TRACE_WATCH_LOOKED = 6, /* bytes: enum trace_watch_why, why it is only looked at from here on */
    TRACE_WATCH_UNTOLD = 7, /* bytes: writes that have no record of their own */
    TRACE_WATCH_FREED = 8,  /* the program has given it back */
    TRACE_WATCH_NO_ROOM = 9, /* it is not watched: too many are */
    TRACE_WATCH_COMMAND =
        10, /* of a device, that may write there: name, stack; bytes: its number << 4 | enum
                                 trace_watch_command. A look is made once it has ended */
    TRACE_WATCH_RESULT =
        11, /* of that look; bytes: the number << 33 | (could it not be read?) << 32 | a hash */
    TRACE_WATCH_UNKNOWN = 12, /* it is not watched: no object of a device that is known, */
    TRACE_WATCH_NO_SLOT = 13, /* or too many of these are */
    TRACE_WATCH_DEAD = 14,    /* it was freed before it was watched */
};

enum trace_watch_why {
    TRACE_WATCH_UNASKED = 1,
    TRACE_WATCH_SMALL = 2, /* no page lies wholly in it */
    TRACE_WATCH_STACK = 3,
    TRACE_WATCH_READ_ONLY = 4, /* or not mapped, or not all of it */
    TRACE_WATCH_KERNEL = 5,    /* does not allow it */
    TRACE_WATCH_MASKED = 6,    /* a thread has blocked SIGSEGV */
    TRACE_WATCH_RING = 7,      /* io_uring or asynchronous reads */
    TRACE_WATCH_TAKEN = 8,     /* the program has changed its rights, or gave it to the kernel */
    TRACE_WATCH_SIGNALS = 9,   /* the program has set its handler past libc */
    TRACE_WATCH_DEVICE = 10,   /* it is on a device: looks are made around commands */
};

enum trace_watch_command {                               /* flags */
                           TRACE_COMMAND_DECLARED = 1,   /* that it writes there */
                           TRACE_COMMAND_UNDECLARED = 2, /* that it does not */
                           TRACE_COMMAND_BESIDE = 4, /* in no order with looks that had not ended by
                                                        then, or with other threads */
                           TRACE_COMMAND_BEFORE = 8, /* none: the look before the first one */
};

enum trace_cause { /* of a WAIT */
                   TRACE_WAIT_SLEEP = 1,
                   TRACE_WAIT_POLL = 2, /* for one of several files, or for input */
                   TRACE_WAIT_IO = 3,   /* in a read, a write and their kin */
                   TRACE_WAIT_LOCK = 4,
                   TRACE_WAIT_GIL = 5,   /* for the interpreter's own lock */
                   TRACE_WAIT_QUEUE = 6, /* ready to run, but no CPU was free */
                   TRACE_WAIT_CHILD = 7, /* for another process */
                   TRACE_WAIT_OTHER = 8,
};

enum trace_mmap_kind {
    TRACE_MMAP_ANONYMOUS,
    TRACE_MMAP_FILE,
    TRACE_MMAP_MOVED,
    TRACE_MMAP_BREAK,
    TRACE_MMAP_ARENA,     /* an allocator's, whose blocks are told one by one */
    TRACE_MMAP_SHARED,    /* with other processes: anonymous, or a file that is in memory alone */
    TRACE_MMAP_RESERVED,  /* anonymous, without a claim to memory (MAP_NORESERVE) */
    TRACE_MMAP_PROTECTED, /* what is mapped there has another protection from here on */
};
#define TRACE_MMAP_KINDS (TRACE_MMAP_PROTECTED + 1)

/* What memory of a program is: of one that is recorded, all kinds but FILE and RESERVED add up. */
enum trace_memory {
    TRACE_MEMORY_HEAP,   /* by malloc and its kin, Python's allocators, the program's own */
    TRACE_MEMORY_MAPPED, /* private anonymous memory that it mapped itself */
    TRACE_MEMORY_SHARED,
    TRACE_MEMORY_FILE,
    TRACE_MEMORY_RESERVED, /* addresses; what is resident of them is counted as mapped */
};
#define TRACE_MEMORY_COUNTED (TRACE_MEMORY_SHARED + 1) /* these kinds add up */
#define TRACE_MEMORY_KINDS (TRACE_MEMORY_RESERVED + 1)

/* `later` of a FREE: how many allocations its thread made between the block's own and its free;
 * TRACE_LATER_MANY for more, or where another thread freed it. Absent: it is not known.
 *
 * `weight` of an ALLOC or a COPY: thousandths of blocks that it stands for, in a sampled recording.
 *
 * `step` of a MARK that is one: the how manieth of its process. `step` of a CONTEXT: how many of
 * them had ended, so its blocks belong to the step that ends with the next; `process` is whose
 * steps these are. The pairs of a CONTEXT are labels, key and value, both strings. An INFO_CONTEXT
 * stands before its infos.
 *
 * STACKS defines `count` stacks, numbered from `first`; its tail has two varints for each: how much
 * smaller its parent's number is than its own, less 1 (its own number - 1: it has no parent), and
 * its frame.
 *
 * INFOS defines `count` infos of a process, numbered from `first`: what blocks of one size from one
 * stack share. Its tail has three varints for each: bytes, stack (zigzag, less the one before; the
 * first: less 0), origin.
 *
 * A BATCH holds the events of one process over at most TRACE_BATCH_SPAN_MOST ns; its time is that
 * of its last event, span_ns earlier is the first. Its tail is
 * three columns, each a varint of its bytes and the bytes:
 *   runs     thread, ns since the run before (zigzag; the first: since the batch's start), events
 *   symbols  one varint per event: info * 2 for an allocation, info * 2 + 1 for a free. Info 0 is
 *            none: 1 is the free of a block that was not seen to live, 0 says that the next symbol,
 *            a free, is taken back (a realloc failed)
 *   fates    one byte per free (also of 1, and taken back): low four bits, how many allocations its
 *            thread made between the two, 15 for more or another thread; high four bits, the time
 *            it lived: 0 for less than 65.5 us, n for less than 2^n times that, 15 for more
 */
#define TRACE_BATCH_SPAN_MOST 1000000000u
#define TRACE_LATER_MANY 15u

enum trace_lost {                        /* `what` of a LOSS */
                  TRACE_LOST_FULL = 1,   /* events: the ring was full for too long */
                  TRACE_LOST_NESTED = 2, /* events in a handler that interrupted a record */
                  TRACE_LOST_SLOTS = 3,  /* threads that found no ring */
                  TRACE_LOST_BROKEN = 4, /* rings that the program scribbled over, from there on */
                  TRACE_LOST_TORN = 5,   /* Python frames of a stack: met while they changed */
                  TRACE_LOST_TICKS = 7,  /* samples that could not be taken in time */
                  TRACE_LOST_PROGRAMS =
                      8, /* programs that were started, but neither recorded nor seen */
                  TRACE_LOST_UNREAD = 9, /* rings that belonged to no process that is known */
                  TRACE_LOST_BEYOND =
                      10, /* rings of a process that told more than is kept of one */
                  TRACE_LOST_CONTEXTS = 11, /* contexts: their blocks do not know step and labels */
};

_Static_assert(sizeof(struct trace_header) == 64, "trace_header changed size");
_Static_assert(sizeof(struct trace_chunk) == 40, "trace_chunk changed size");
_Static_assert(sizeof(struct trace_mmap) == TRACE_FIELDS_MOST * 8, "TRACE_FIELDS_MOST is wrong");

#endif
