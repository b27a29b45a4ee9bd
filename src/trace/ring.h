/* ring - the shared memory between a recorded program and the collector. Format only, no functions.
 *
 *   file = control (RING_PAGE_MOST), slot[RING_SLOTS], ring[RING_SLOTS]      sparse: only touched
 * pages exist
 *
 * The collector makes the file (a memfd) and names it in the environment variable RING_ENV as
 * /proc/PID/fd/N, so that nothing is left behind when it dies and no descriptor is inherited. To a
 * process that already ran it is told by tidemark_join instead. A recorded thread claims a slot: it
 * clears a bit in `free_slots`, fills the slot, and owns the ring of that number until the
 * collector has seen the thread or process end.
 *
 * A ring is RING_WORDS words of 64 bits, all zero at first. The writer stores a record's first word
 * last; the collector reads records up to the first zero word, zeroes what it has read and only
 * then moves `tail`. So whatever a thread has written is safe at that moment, however the process
 * ends, and the writer makes no system call. A record never crosses the end of the ring (PAD), and
 * the writer always has RING_SLACK zero words ahead of it.
 *
 * First word: kind in bits 0-4, `aux` in bits 5-15, the address in bits 16-63. An ALLOC is
 * recorded after the memory exists, a FREE before it is given back. Records carry no time: a TICK
 * stands before the first record of each new tick.
 *
 * A process is numbered by `next_process`, anew on fork and on exec. Stacks are numbered per
 * process; a forked child goes on with its parent's numbers, so a number that the child did not
 * define itself is the parent's. The rings of a process are read tick by tick, but in any order
 * within one: a thread that uses a number which another defined in that tick defines it as well.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include "trace/ring_kinds.h"

#include <stdatomic.h>
#include <stdint.h>

#define RING_ENV "TIDEMARK_RING"
/* Ends the variable of a program whose start was counted; the library takes it away. */
#define RING_COUNTED '+'
#define RING_NAME                                                                                  \
    "tidemark-"            /* of the memory and of the socket; the pid of the collector follows */
#define RING_GIVEN "-ring" /* after that: the socket through which the memory is given */
#define RING_WHO                                                                                   \
    "-who" /* or: the one at which processes of other pid namespaces present themselves */
#define RING_MAGIC 0x38474e4952454454ull /* "TDERING8" */
#define RING_SLOTS 16384u
#define RING_WORDS (1u << 17)             /* 1 MiB */
#define RING_PIECE (RING_WORDS / 16)      /* the writer looks at `tail` once per piece */
#define RING_RECORD_MOST 1200u            /* words */
#define RING_SLACK (3 * RING_RECORD_MOST) /* one event may write three records */
#define RING_DEPTH_MOST 1024u             /* frames of a recorded stack */
#define RING_STACKS_MOST (1u << 25)       /* the numbers of a process's stacks are below it */
#define RING_TEXT_MOST 4096u              /* bytes of a text in a record */
#define RING_CALLS 512u /* the numbers of system calls that we make are below it */

enum ring_mode {
    RING_OFF = 0,
    RING_SAMPLED = 1,
    RING_EXACT = 2,
    RING_NO_HEAP = 3, /* recorded, but no allocations and no maps */
};

/* Added to a mode: no new allocation is recorded, but what dies still is. */
#define RING_PAUSED 4u
/* Added to a mode: outside of a window. Blocks are told by address and size, and the one stack that
 * they have says so (RING_FRAME_OUTSIDE).
 */
#define RING_OUTSIDE 8u
#define RING_MODES 3u /* a mode without these two */

struct ring_window { /* steps of a process, from 1; both are within */
    uint64_t first, last;
};
#define RING_WINDOWS 32u
#define RING_WATCH_BYTES 1024u /* of all names of tensors that are to be watched, */
#define RING_WATCH_NAME 128u   /* and of one, with what ends it */

enum ring_kind {
    RING_NONE = 0,
    RING_TICK,      /* time in ns << 5 | kind: of all that follows */
    RING_FREE,      /* aux: origin, and RING_AT_ONCE */
    RING_ALLOC,     /* aux: origin; stack << 32 | bytes */
    RING_ALLOC_BIG, /* aux: origin; stack; bytes */
    RING_SAMPLE,    /* aux: origin; stack; bytes; the mean that it was drawn with; 0: every block of
                       its size is told */
    RING_UNFREE,    /* the FREE of this address was not carried out */
    RING_STACK,     /* number << 32 | frames << 5 | kind; a stack that this one goes on from << 32 |
                       how many of its innermost frames it does without; its own frames, innermost
                       first */
    RING_PROCESS,   /* pid << 32 | process; pid of its parent << 32 | parent process, if that has
                       forked it,   or 0; text bytes; number of its pid   namespace, which that pid is
                       of,   0: not known; text: its file, a NUL, its name */
    RING_THREAD,    /* tid in bits 16-63; stack's lowest address; stack's bytes; the stack that
                          started it, 0: not known */
    RING_THREAD_END,
    RING_MODULE,   /* address: start; length; load bias; text bytes << 32 | build-id bytes; build-id
                      in 4   words; text: its path, empty for the program itself */
    RING_UNLOADED, /* modules may have gone: forget them */
    RING_MAP,      /* aux: enum ring_map; length; stack << 32 | protection; which object it is of,
                       0: none that others could map; when, in ns, 0: not known but for its tick */
    RING_UNMAP,    /* length; when */
    RING_UNUNMAP,  /* the same; it was not carried out */
    RING_MARK,     /* aux: enum ring_mark; value; text bytes << 32 | bytes of its first part;
                       text. Address: of a step, the how manieth it is of its process;
                       of what is described, its own */
    RING_CODE,   /* number << 32 | kind; address; first line; text bytes << 32 | bytes of the file;
                       text: file, function. A Python function, which frames refer to */
    RING_CPU,    /* aux: enum ring_cpu and flags; stack; ns of CPU time since the one before */
    RING_COPY,   /* stack; bytes; the mean that it was drawn with: memory was copied */
    RING_PYTHON, /* version as in PY_VERSION_HEX; enum ring_python; address of _PyRuntime; its
                       bytes; address of PyCode_Type: this process has an interpreter */
    RING_SPACE, /* aux: enum ring_space, and the class of its handle << 3; address or handle; bytes;
                       stack << 32 | kind of its space; when, in ns, 0: not known but for its tick;
                       owner or status; text bytes << 32 | bytes of its first part; text: space,
                   call */
    RING_OP,    /* aux: enum ring_op; address: what stands for its name */
    RING_OP_NAME, /* the same; text bytes << 32; text: the name, before its thread uses it */
    RING_PAD,     /* the record after it is at the ring's start */
    RING_KIND_END
};

enum ring_op { RING_OP_BEGIN, RING_OP_END, RING_OP_LAST }; /* END: of the thread's innermost */

/* Added to the aux of a FREE of a sampled block: its thread has allocated nothing since. */
#define RING_AT_ONCE 0x400u

enum ring_space {                    /* what happened to memory of a space besides the host's own */
                  RING_SPACE_ALLOC,  /* owner: what it dies with, at the latest; 0: nothing */
                  RING_SPACE_FREE,   /* when: before the call, which was carried out */
                  RING_SPACE_FAILED, /* status: what the call returned, or errno; handle: how many
                            such it stands for; without the text of a space: of the host's memory */
                  RING_SPACE_GONE,   /* all that this owner has, of handles of one vendor: see below
                                      */
                  RING_SPACE_LAUNCHES, /* bytes: how many; text: call. If `kind` is 1, handle, when
                            and owner are the bytes that they were given, may have read, and written
                          */
                  RING_SPACE_HOLD, /* it lives until one more FREE, or LET_GO of owner: where it is
                            mapped, so many bytes; owner 0: nowhere */
                  RING_SPACE_LET_GO, /* all that is mapped in these bytes from this address on */
                  RING_SPACE_ACCESS, /* it was read or written: `kind` is enum ring_access; text: by
                            whom. Without a handle: every access to what its vendor has on devices
                            is told */
                  RING_SPACE_END
};

/* A class of handles: those of one class are told apart by their value. Its vendor is above. */
#define RING_SPACE_CLASS_BITS 3

enum ring_python {
    RING_PYTHON_READ,     /* its frames are read */
    RING_PYTHON_UNKNOWN,  /* a version that we do not know */
    RING_PYTHON_MISMATCH, /* the check against its C API failed */
    RING_PYTHON_FREE,     /* a free-threaded build */
    RING_PYTHON_DEBUG,    /* a debug build with longer objects */
};

enum ring_wants { /* what to record, besides what `mode` says of allocations */
                  RING_WANTS_CPU = 1,
                  RING_WANTS_COPIES = 2,
                  RING_WANTS_PYTHON = 4, /* Python frames in stacks */
                  RING_WANTS_WAITS = 8,
                  RING_WANTS_REACH = 16,     /* at its end a process waits to be looked at */
                  RING_WANTS_LAUNCHES = 64,  /* work that is handed to devices */
                  RING_WANTS_ROOM = 32,      /* who finds its ring full waits, though it samples */
                  RING_WANTS_ACCESSES = 128, /* who reads and writes what */
                  RING_WANTS_OPS = 256, /* operators of PyTorch, each with its beginning and end */
};

/* The signals that a thread has blocked while it is borrowed to join: all but those that a fault
 * causes (7, 11, 4, 8, 5, 31), which undo their handlers where they are blocked, and SIGKILL and
 * SIGSTOP.
 */
#define RING_BORROWED_MASK                                                                         \
    (~(1ull << 6 | 1ull << 10 | 1ull << 3 | 1ull << 7 | 1ull << 4 | 1ull << 30 | 1ull << 8 |       \
       1ull << 18))

/* What tidemark_enter is called with from outside; and what its answer, and that of tidemark_quit,
 * is added to: a thread that is borrowed may return to a system call, which has no such number.
 */
struct ring_entry {
    int32_t fd;     /* of the memory, where its path is not seen; -1: there is a path */
    uint32_t alone; /* nobody records this process, whatever it may believe */
    char path[64];
    uint64_t never[RING_CALLS / 64]; /* system calls that its filter may punish: a bit for each */
};
#define RING_ANSWER (1u << 29)

/* Without one of these no CPU time is sampled: numbers for struct ring_entry.never. */
#define RING_CPU_CALLS                                                                             \
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigtimedwait, SYS_rt_sigpending,                  \
        SYS_timer_create, SYS_timer_settime, SYS_timer_delete, SYS_tgkill, SYS_restart_syscall

enum ring_mark {
    RING_MARK_MOMENT,
    RING_MARK_STEP,
    RING_MARK_BEGIN,    /* value: the region's number in the process; 0: regions nest */
    RING_MARK_FINISH,   /* the same; 0: the innermost */
    RING_MARK_LABEL,    /* text: key and value */
    RING_MARK_PROFILED, /* value: first line; text: file and function */
    RING_MARK_PAUSE,    /* no new allocation of this process is recorded from here on */
    RING_MARK_RESUME,
    RING_MARK_SNAPSHOT,
    RING_MARK_FINALIZING, /* the interpreter of this process ends: it frees what its program held */
    RING_MARK_HEIR, /* value: how many steps had ended when this process was forked << 1 | they were
                       its parent's own, and not those that it was forked in */
    RING_MARK_WHOLE, /* value: from here on every block of so many bytes and more is told of this
                        process, and smaller ones are sampled; text: the library that it is for,
                        none: there were too many of these, or no longer */
    RING_MARK_REACH, /* this process waits: what does nothing point to? text: where its stack
                        stands, and its thread pointer */
    RING_MARK_DESCRIBED, /* address: of a block; text: what it is for, and its name */
    RING_MARK_ACCESS,    /* address: of the memory; value: its bytes << 4 | enum ring_access; text:
                        the operator or kernel */
    RING_MARK_WATCH,  /* address; value: of what changed its stack, of a write its bytes << 32 | its
                        stack, of  a command its number likewise, else its bytes, << 4 | enum
                        ring_watch; text: its name, of a write the call's */
    RING_MARK_WINDOW, /* from here on this process tells the stacks of its blocks, */
    RING_MARK_WINDOW_END, /* and from here on not; value of both: how many of its steps have ended
                           */
    RING_MARK_RANK,       /* value: which of RING_RANKS, from 0; text: its number, in digits */
    RING_MARK_STARTED /* address: a pid, by our numbers; value: the stack that started what it is
                         from now on */
};

/* What says which rank of a distributed program a process is, and of how many: the variables of
 * launchers that are looked for, and no others, the strongest of each kind first. The first of each
 * is the program's own word.
 */
#define RING_RANKS(X)                                                                              \
    X(RANK, "tidemark_rank")                                                                       \
    X(WORLD, "tidemark_rank")                                                                      \
    X(RANK, "RANK") /* torchrun, accelerate, deepspeed */                                          \
    X(LOCAL, "LOCAL_RANK")                                                                         \
    X(WORLD, "WORLD_SIZE")                                                                         \
    X(RANK, "OMPI_COMM_WORLD_RANK") /* Open MPI */                                                 \
    X(LOCAL, "OMPI_COMM_WORLD_LOCAL_RANK")                                                         \
    X(WORLD, "OMPI_COMM_WORLD_SIZE")                                                               \
    X(RANK, "MV2_COMM_WORLD_RANK") /* MVAPICH */                                                   \
    X(LOCAL, "MV2_COMM_WORLD_LOCAL_RANK")                                                          \
    X(WORLD, "MV2_COMM_WORLD_SIZE")                                                                \
    X(RANK, "PMIX_RANK")                                                                           \
    X(RANK, "PMI_RANK") /* MPICH, Intel MPI */                                                     \
    X(LOCAL, "MPI_LOCALRANKID")                                                                    \
    X(WORLD, "PMI_SIZE")                                                                           \
    X(RANK, "SLURM_PROCID")                                                                        \
    X(LOCAL, "SLURM_LOCALID")                                                                      \
    X(WORLD, "SLURM_NTASKS")

enum ring_rank_kind { RING_RANK_RANK, RING_RANK_LOCAL, RING_RANK_WORLD, RING_RANK_KINDS };
#define RING_RANKS_TOLD 2 /* so many of them no variable says */
#define RING_RANK_DIGITS 9

/* Bits of a frame in a STACK, above the address. */
#define RING_FRAME_GUESSED (1ull << 63) /* stepped to by frame pointer: no unwind data there */
/* no frame: here frames of a very deep stack are left out */
#define RING_FRAME_ELIDED (1ull << 62)
#define RING_FRAME_CUT (1ull << 61)    /* no frame: the stack could not be followed further */
#define RING_FRAME_PYTHON (1ull << 60) /* a line of Python: number of its CODE << 24 | line */
#define RING_FRAME_OUTSIDE                                                                         \
    (1ull << 59) /* no frame: nobody looked, outside of a window; below it 1: after one */
#define RING_FRAME_ADDRESS ((1ull << 56) - 1)

/* What whoever starts a program can say beforehand of the library's way into it. Counted when it is
 * started, and the programs that it did come into are counted as well: so nothing is missed however
 * short it lives, and no name is needed.
 */
enum ring_start {
    RING_START_PLAIN,     /* nothing is known that would keep the library out */
    RING_START_MACHINE,   /* a program for another machine */
    RING_START_STATIC,    /* statically linked */
    RING_START_LIBC,      /* of another libc */
    RING_START_OLD_LIBC,  /* of one that is older than the library needs */
    RING_START_SANITIZED, /* with a sanitizer */
    RING_START_RIGHTS,    /* with rights of its own, by its file */
    RING_START_USER,      /* by a process of another user than the collector's */
    RING_START_ATTACHED,  /* by one that was only attached to */
    RING_START_CONFINED,  /* by one that may not ask the kernel */
    RING_START_ROOT,      /* where the root is another one, without the library */
    RING_START_UNSEEN,    /* where the library is not to be seen any more */
    RING_START_END
};

struct ring_control {
    uint64_t magic;
    uint32_t slots, words;      /* RING_SLOTS, RING_WORDS: a check that both sides agree */
    _Atomic uint32_t collector; /* its thread; RING_COLLECTOR_DIED is added by the kernel */
    _Atomic uint32_t passes;    /* times that it has read all rings */
    uint64_t collector_user;
    uint64_t secret;    /* that who presents itself has seen this memory; 0: nobody can */
    uint64_t origin_ns; /* CLOCK_MONOTONIC; ticks are relative to it */
    _Alignas(64) _Atomic uint64_t tick; /* ns; the collector's clock, moved at every look */
    _Atomic uint32_t mode;              /* may change while programs run; asked for with the tick */
    _Atomic uint32_t mode_outside;      /* the same, of a process that is outside of its windows, */
    _Atomic uint32_t
        mode_followed; /* and of one that says nothing of windows: as the last that did */
    _Atomic uint32_t windows_opened; /* by anybody */
    uint32_t depth;                  /* most frames of a stack */
    uint64_t sample_mean;            /* bytes */
    uint64_t sample_rate;    /* of a process per second: beyond it the mean grows; 0: never */
    uint64_t whole_from;     /* while it samples: every block of so many bytes and more; 0: none */
    uint64_t whole_rate;     /* of them in a second: beyond it that limit grows; 0: never */
    uint64_t framework_from; /* the same two of a process that has loaded a framework of deep
                                learning; */
    uint64_t framework_rate; /* 0: as of all others */
    uint64_t cpu_ns;         /* CPU time of a thread between two samples */
    uint32_t wants;          /* enum ring_wants */
    uint32_t library;        /* the collector's descriptor of our library; 0: none */
    _Alignas(64) _Atomic uint32_t next_process;
    _Atomic uint32_t no_slot; /* threads that could not have a ring, at least for a time */
    _Atomic uint32_t started[RING_START_END]; /* programs, by exec or spawn */
    _Atomic uint32_t unmarked; /* of these: by an environment that could not be marked */
    _Atomic uint32_t came; /* programs that the library has begun in, by a marked environment, */
    _Atomic uint32_t
        came_unmarked;     /* and by one that is not: started without being counted, perhaps */
    uint32_t window_count; /* 0: none that are steps */
    struct ring_window windows[RING_WINDOWS];
    char watch[RING_WATCH_BYTES]; /* tensors to be watched: patterns, one a line (base/dotted.h) */
    _Alignas(64) _Atomic uint64_t free_slots[RING_SLOTS / 64];
};

/* The collector's word is a robust futex, see futex(7): however it ends, the kernel says so, to all
 * who share this memory, in whatever namespace, and before anybody has waited for it.
 */
#define RING_COLLECTOR_DIED 0x40000000u

/* What a process sends to the socket of RING_WHO: it is this one, and the kernel says with it which
 * that is by the collector's numbers, also when it has ended by then.
 */
struct ring_presented {
    uint64_t secret;
    uint32_t process, reserved;
};

enum ring_slot_state { RING_SLOT_FREE, RING_SLOT_CLAIMED };

struct ring_slot {
    _Atomic uint32_t state; /* last to be set by the claimer */
    uint32_t process, pid;
    _Atomic uint32_t tid; /* its owner; another thread of the process may take it over */
    _Alignas(64) _Atomic uint64_t tail; /* words read so far; the collector's */
    _Alignas(64) _Atomic uint64_t lost; /* records lost: the ring was full for too long */
    _Atomic uint64_t nested;            /* events in a signal handler that interrupted a record */
    _Atomic uint64_t torn;              /* looks at its Python frames that met one half made */
    _Atomic uint64_t answered;          /* by the collector, to who waits for it */
    uint64_t reserved[4];
};

#define RING_PAGE_MOST 65536u /* the largest page of a processor that is known: aarch64's */
#define RING_SLOTS_OFFSET RING_PAGE_MOST
#define RING_RINGS_OFFSET (RING_SLOTS_OFFSET + RING_SLOTS * sizeof(struct ring_slot))
#define RING_FILE_BYTES (RING_RINGS_OFFSET + (uint64_t)RING_SLOTS * RING_WORDS * 8)

_Static_assert(sizeof(struct ring_control) <= RING_SLOTS_OFFSET, "ring_control outgrew its page");
_Static_assert(sizeof(struct ring_slot) == 192, "ring_slot changed size");
_Static_assert(RING_RINGS_OFFSET % RING_PAGE_MOST == 0 && RING_WORDS * 8 % RING_PAGE_MOST == 0,
               "rings are not page-aligned");
_Static_assert(RING_KIND_END <= 32, "ring_kind outgrew its bits");
_Static_assert(RING_RECORD_MOST >= RING_DEPTH_MOST + 8 &&
                   RING_RECORD_MOST >= RING_TEXT_MOST / 8 + 16,
               "RING_RECORD_MOST is too small");

#endif
