/* ring - the shared memory between a recorded program and the collector. Format only, no functions.
 *
 *   file = control (1 page), slot[RING_SLOTS], ring[RING_SLOTS]      sparse: only touched pages exist
 *
 * The collector makes the file (a memfd) and names it in the environment variable RING_ENV as
 * /proc/PID/fd/N, so that nothing is left behind when it dies and no descriptor is inherited. To a
 * process that already ran it is told by tidemark_join instead. A recorded thread claims a slot: it clears a bit in `free_slots`, fills the slot, and owns the ring
 * of that number until the collector has seen the thread or process end.
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

#include <stdatomic.h>
#include <stdint.h>

#define RING_ENV "TIDEMARK_RING"
#define RING_NAME "tidemark-"            /* of the memory; the pid of the collector follows */
#define RING_MAGIC 0x32474e4952454454ull /* "TDERING2" */
#define RING_SLOTS 16384u
#define RING_WORDS (1u << 17)             /* 1 MiB */
#define RING_PIECE (RING_WORDS / 16)      /* the writer looks at `tail` once per piece */
#define RING_RECORD_MOST 1200u            /* words */
#define RING_SLACK (3 * RING_RECORD_MOST) /* one event may write three records */
#define RING_DEPTH_MOST 1024u             /* frames of a recorded stack */
#define RING_TEXT_MOST 4096u              /* bytes of a text in a record */

enum ring_mode {
    RING_OFF = 0,
    RING_SAMPLED = 1,
    RING_EXACT = 2,
    RING_NO_HEAP = 3, /* recorded, but no allocations and no maps */
};

/* Added to a mode: no new allocation is recorded, but what dies still is. */
#define RING_PAUSED 4u

enum ring_kind {
    RING_NONE = 0,
    RING_TICK,      /* time in ns << 5 | kind: of all that follows */
    RING_FREE,      /* aux: origin, and RING_AT_ONCE */
    RING_ALLOC,     /* aux: origin; stack << 32 | bytes */
    RING_ALLOC_BIG, /* aux: origin; stack; bytes */
    RING_SAMPLE,    /* aux: origin; stack; bytes; the mean that it was drawn with */
    RING_UNFREE,    /* the FREE of this address was not carried out */
    RING_STACK,     /* number << 32 | frames << 5 | kind; frames, innermost first */
    RING_PROCESS, /* pid << 32 | process; parent process or 0; text bytes; text: its file, a NUL, its
                       name */
    RING_THREAD,  /* tid in bits 16-63; stack's lowest address; stack's bytes; the stack that
                       started it, 0: not known */
    RING_THREAD_END,
    RING_MODULE, /* address: start; length; load bias; text bytes << 32 | build-id bytes; build-id in 4
                       words; text: its path, empty for the program itself */
    RING_UNLOADED, /* modules may have gone: forget them */
    RING_MAP,      /* aux: enum ring_map; length; stack << 32 | protection */
    RING_UNMAP,    /* length */
    RING_UNUNMAP,  /* the same; it was not carried out */
    RING_BREAK,    /* the new end of the data segment; stack */
    RING_MARK,     /* aux: enum ring_mark; value; text bytes << 32 | bytes of its first part;
                       text */
    RING_CODE,   /* number << 32 | kind; address; first line; text bytes << 32 | bytes of the file;
                       text: file, function. A Python function, which frames refer to */
    RING_CPU,    /* aux: enum ring_cpu and flags; stack; ns of CPU time since the one before */
    RING_COPY,   /* stack; bytes; the mean that it was drawn with: memory was copied */
    RING_PYTHON, /* version as in PY_VERSION_HEX; enum ring_python; address of _PyRuntime; its
                       bytes; address of PyCode_Type: this process has an interpreter */
    RING_PAD,    /* the record after it is at the ring's start */
    RING_KIND_END
};

enum ring_origin { /* aux of ALLOC, FREE and SAMPLE; also `origin` of TRACE_ALLOC */
                   RING_BY_MALLOC,
                   RING_BY_CALLOC,
                   RING_BY_REALLOC,
                   RING_BY_ALIGNED, /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc */
                   RING_BY_POOL,    /* the program's own allocator, by tidemark_alloc */
                   RING_BY_PYTHON,  /* the allocators of a Python interpreter */
                   RING_BY_END
};

/* Added to the aux of a FREE of a sampled block: its thread has allocated nothing since. */
#define RING_AT_ONCE 0x400u

enum ring_map {
    RING_MAP_ANONYMOUS = 1,
    RING_MAP_FILE = 2,
    RING_MAP_MOVED = 4,
    RING_MAP_ARENA = 8, /* an allocator's, whose blocks are told one by one */
};

/* Where the time went: one of the first three; COPY: in memcpy or memmove. */
enum ring_cpu { RING_CPU_PYTHON = 1, RING_CPU_NATIVE = 2, RING_CPU_SYSTEM = 3, RING_CPU_COPY = 8 };

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
};

/* The signals that a thread has blocked while it is borrowed to join: all but those that a fault causes
 * (7, 11, 4, 8, 5, 31), which undo their handlers where they are blocked, and SIGKILL and SIGSTOP.
 */
#define RING_BORROWED_MASK                                                                         \
    (~(1ull << 6 | 1ull << 10 | 1ull << 3 | 1ull << 7 | 1ull << 4 | 1ull << 30 | 1ull << 8 |       \
       1ull << 18))

enum ring_mark {
    RING_MARK_MOMENT,
    RING_MARK_STEP,
    RING_MARK_BEGIN,    /* value: the region's number in the process; 0: regions nest */
    RING_MARK_FINISH,   /* the same; 0: the innermost */
    RING_MARK_LABEL,    /* text: key and value */
    RING_MARK_PROFILED, /* value: first line; text: file and function */
    RING_MARK_PAUSE,    /* no new allocation of this process is recorded from here on */
    RING_MARK_RESUME,
    RING_MARK_SNAPSHOT
};

/* Bits of a frame in a STACK, above the address. */
#define RING_FRAME_GUESSED (1ull << 63) /* stepped to by frame pointer: no unwind data there */
#define RING_FRAME_ELIDED (1ull << 62) /* no frame: here frames of a very deep stack are left out */
#define RING_FRAME_CUT (1ull << 61)    /* no frame: the stack could not be followed further */
#define RING_FRAME_PYTHON (1ull << 60) /* a line of Python: number of its CODE << 24 | line */
#define RING_FRAME_ADDRESS ((1ull << 56) - 1)

struct ring_control {
    uint64_t magic;
    uint32_t slots, words; /* RING_SLOTS, RING_WORDS: a check that both sides agree */
    uint64_t collector_pid;
    uint64_t origin_ns;                 /* CLOCK_MONOTONIC; ticks are relative to it */
    _Alignas(64) _Atomic uint64_t tick; /* ns; the collector's clock, moved at every look */
    _Atomic uint32_t mode;              /* may change while programs run; asked for with the tick */
    uint32_t depth;                     /* most frames of a stack */
    uint64_t sample_mean;               /* bytes */
    uint64_t sample_rate; /* of a process per second: beyond it the mean grows; 0: never */
    uint64_t cpu_ns;      /* CPU time of a thread between two samples */
    uint32_t wants;       /* enum ring_wants */
    _Alignas(64) _Atomic uint32_t next_process;
    _Atomic uint32_t no_slot; /* threads that found no free slot: nothing of them is recorded */
    _Alignas(64) _Atomic uint64_t free_slots[RING_SLOTS / 64];
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
    uint64_t reserved[5];
};

#define RING_SLOTS_OFFSET 4096u
#define RING_RINGS_OFFSET (RING_SLOTS_OFFSET + RING_SLOTS * sizeof(struct ring_slot))
#define RING_FILE_BYTES (RING_RINGS_OFFSET + (uint64_t)RING_SLOTS * RING_WORDS * 8)

_Static_assert(sizeof(struct ring_control) <= RING_SLOTS_OFFSET, "ring_control outgrew its page");
_Static_assert(sizeof(struct ring_slot) == 192, "ring_slot changed size");
_Static_assert(RING_RINGS_OFFSET % 4096 == 0, "rings are not page-aligned");
_Static_assert(RING_KIND_END <= 32, "ring_kind outgrew its bits");
_Static_assert(RING_RECORD_MOST >= RING_DEPTH_MOST + 8 &&
                   RING_RECORD_MOST >= RING_TEXT_MOST / 8 + 16,
               "RING_RECORD_MOST is too small");

#endif
