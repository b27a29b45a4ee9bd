/* state - what the library knows inside the target: per process, per thread, per thread in TLS.
 *
 * The rules of this folder: it runs inside somebody's program. No malloc, no stdio, no lock that a
 * signal or a fork could leave taken, nothing that ends the process; errno is as the program left
 * it; TLS is small, zero at first and needs no allocation (initial-exec).
 */
#ifndef INJECT_STATE_H
#define INJECT_STATE_H

#include "arch/arch.h"
#include "inject/glimpse.h"
#include "inject/numbers.h"
#include "python/linetable.h"
#include "trace/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define EXPORT __attribute__((visibility("default")))
#define OUTLINE __attribute__((noinline))
#define CALLER() ARCH_CALLER()

struct pc_row {
    uintptr_t pc;
    uint64_t row;
};

struct numbered {
    uint64_t hash;
    uint64_t number;
};

struct line_place { /* how far the lines of a Python function were read */
    uint64_t key;
    struct py_line_place place;
};

/* The last of a series of stacks: what the next one shares with it is neither hashed nor told
 * again. */
struct trail {
    uint32_t number; /* of all its frames; 0: nobody was told of it */
    uint32_t count;
    uint64_t frames[RING_DEPTH_MOST + 8]; /* the outermost first */
    uint64_t hashes[RING_DEPTH_MOST + 8]; /* each of its frame and all before it */
};

#define PATH_MOST 2048u

struct path_step {    /* of the last walk: short, as all of them are compared again and again */
    struct caller to; /* where it led; it left where the one before it did */
    uint32_t pc_at, fp_at, cfa_at; /* where it read what, in bytes below the stack's end; 0: not */
    bool leads : 1, guessed : 1;   /* to a frame, by a guess */
    bool uses_fp : 1;
    bool needs_fp : 1; /* where the frame pointer is something else, so may be what lies further up
                        */
    bool plain : 1;    /* the same return address leads on in the same way */
};

struct path {
    size_t count;  /* of `steps`, at its end, after one that stands for where the walk began */
    bool cut;      /* its last step led nowhere */
    size_t shared; /* outermost frames, with the mark of a cut, that the last walk found as they
                      were */
    const struct path_step *next; /* that a walk under way may join */
    size_t fresh_count;           /* steps of a walk under way, */
    struct caller began;          /* which began here */
    const struct path_step
        *rest;                /* those that led to frames of the thread which are not there yet, */
    size_t rest_at, rest_end; /* from rest_at to rest_end: see walk_fill; NULL: all are */
    struct path_step steps[PATH_MOST + 1], fresh[PATH_MOST];
};

/* A Python frame of a thread's last look, and what the collector was told of it. */
struct seen_frame {
    uintptr_t at, previous;             /* where it is, and what it links to */
    uintptr_t code, instruction, lines; /* what runs there, and its table of lines */
    uint64_t hash;                      /* of this frame and all before it */
    uint64_t frame;                     /* as it stands in a STACK, if it is named */
    bool entry, crossed, named;         /* crossed: its link leads to a frame of C code first */
};

#define SEEN_MOST 2048u
#define SEEN_PLACES 256u

struct sight {
    uint32_t count;
    uint32_t shared;              /* outermost frames that the last look found as they were */
    uint16_t places[SEEN_PLACES]; /* by address: 1 + where in `frames` it may be */
    struct seen_frame frames[SEEN_MOST]; /* the outermost first */
    struct seen_frame fresh[SEEN_MOST];  /* while looking: the innermost first */
};

struct memo_frame { /* a Python frame of a stack in the memo: what it read */
    uintptr_t at, previous, code, instruction, lines;
    bool entry, crossed;
};

#define MEMO_FOUR 4u

struct memo_words {              /* of the stack: so many are compared at once */
    uint32_t offsets[MEMO_FOUR]; /* from sp */
    uint64_t values[MEMO_FOUR];
};

union memo_cell { /* what is compared of one stack lies in one row, the innermost first */
    struct memo_words words;
    struct memo_frame frame;
};

struct memo_entry {
    _Alignas(64) uintptr_t pc; /* of this one alone: what is aligned together takes a line each */
    uintptr_t sp, fp;          /* fp: where it is needed */
    uintptr_t python;          /* the innermost Python frame; 0: none */
    uint64_t start;            /* of its cells, counted from the thread's first */
    uint32_t stack;
    uint32_t next_start;    /* where the cells of `next` begin */
    uint16_t next, other;   /* the entries that come after this one: most often, and now and then */
    uint16_t words, frames; /* cells of the ones, and of the others after them */
    bool needs_fp;
    bool strayed; /* it was not `next` the last time */
};

_Static_assert(sizeof(struct memo_entry) == 64, "more than a line of the cache");

/* How the frames of the thread's trail came together, the outermost first: how many native frames
 * and how many of Python's were used up with each.
 */
struct meld {
    size_t count; /* 0: the trail is none of ours */
    uint16_t natives[RING_DEPTH_MOST + 8], pythons[RING_DEPTH_MOST + 8];
};

#define MEMO_SETS 512u
#define MEMO_SETS_FEW 32u /* in use where samples are taken: few pages, that a thread touches */
#define MEMO_WAYS 4u
#define MEMO_CELLS (1u << 15)
#define MEMO_WORDS_EACH 1024u /* cells of one stack, at most */
#define MEMO_FRAMES_EACH 1024u
#define MEMO_CELLS_EACH (MEMO_WORDS_EACH + MEMO_FRAMES_EACH)
#define PC_ROWS 1024u
#define PC_ROWS_FEW 256u /* where samples are taken: a page instead of four, as of the memo */
#define NUMBERED 1024u
#define NUMBERED_FEW 256u
#define FOREIGN_BYTES 32768u
#define CODES_NEAR 2048u
#define LINES_NEAR 8192u
#define LINE_PLACES 64u
#define MIXED_MOST (2 * RING_DEPTH_MOST + 16)

struct memo {
    uint64_t top;        /* where cells go on, counted from the first */
    uint64_t whole_from; /* cells before this one are overwritten, or may be soon */
    uint8_t turn[MEMO_SETS];
    uint16_t last, expected; /* entries: the one that was recalled last, and the next */
    uint32_t vain, unasked;  /* how vain the last searches were, see memo.c */
    /* Of the two innermost return addresses, the stack pointer and the Python frame: apart from the
     * entries, so that those of a set are looked at at once. 0: empty.
     */
    _Alignas(64) uint64_t keys[MEMO_SETS * MEMO_WAYS];
    struct memo_entry entries[MEMO_SETS * MEMO_WAYS]; /* a line of the cache each */
    union memo_cell cells[MEMO_CELLS];
};

#define THREAD_LABELS 8u
#define LABEL_PART_MOST 256u /* bytes of a key, and of a value */

struct thread_label {
    uint16_t first, bytes; /* of the key; of both */
    char text[2 * LABEL_PART_MOST];
};

#define THREAD_LAUNCHES 64u
#define THREAD_OP_NAMES 512u

struct launch { /* launches of one kernel from one place: see launches.h */
    const void *call;
    uintptr_t pc, sp, kernel;
    uint64_t count, since;         /* since: the tick when it was told last */
    uint64_t given, read, written; /* bytes of what it had as arguments, summed over launches */
    uint32_t stack, session;       /* session: of its thread; a forked child's is another */
    uint32_t life; /* of the kernel: see device_arguments.h; 0: these sums are none */
    char name[84];
};

struct thread {            /* private memory, most of it never touched */
    uint64_t *cur, *limit; /* next word to write; look at the collector's tail there */
    uint64_t tick;         /* of the last record */
    uint32_t session;      /* of the process, that its ring is of */
    uint32_t generation;   /* of the modules; the caches below are for it */
    uintptr_t stack_low, stack_high;
    uint64_t *ring;
    struct ring_slot *slot; /* so far what every event asks for: one line of the cache */
    uint64_t lap;           /* words written in the laps before this one */
    int tid;
    uint32_t creator;          /* the stack that started it; 0: not known */
    uint64_t cpu_ns;           /* its CPU clock at its last sample */
    uint64_t timer_ns;         /* its timer's interval */
    int timer_tid;             /* the thread that its CPU timer is for; 0: none */
    _Atomic int timer;         /* its number + 1; 0: none */
    struct thread *next;       /* of the process's list, which only grows */
    unsigned int news, unseen; /* of its stacks, see stacks.c */
    uintptr_t tstate; /* its PyThreadState as it was last asked for, if its frames are read; or 0 */
    uintptr_t python_code, python_at; /* the innermost frame of the last look; 0: none */
    struct { /* where it last wrote to memory that is watched, see watching.c */
        uintptr_t page, pc, sp;
        unsigned int place;
    } wrote;
    uint32_t ops_of;  /* by which process `op_names` were told */
    uint32_t op_bits; /* ranges of PyTorch that are open, the innermost in bit 0; 1: an operator */
    unsigned int label_count;
    bool labels_untold;     /* the collector knows others */
    bool has_codes;         /* any of `codes` and `lines` */
    struct glimpse glimpse; /* so far on one page, which every thread touches */
    struct pc_row pcs[PC_ROWS];
    struct numbered stacks[NUMBERED];
    struct trail told;
    uint64_t frames[RING_DEPTH_MOST + 8];
    uint64_t outer[RING_DEPTH_MOST / 4];
    uint64_t foreign[FOREIGN_BYTES / 8]; /* a copy of a stack that is not the thread's own */
    struct memo memo;
    struct numbered codes[CODES_NEAR], lines[LINES_NEAR]; /* of Python */
    struct line_place line_places[LINE_PLACES];
    struct path path;
    struct sight sight;
    struct meld meld;
    uint64_t python_frames[RING_DEPTH_MOST + 8];
    uint64_t mixed[MIXED_MOST];
    char text[RING_TEXT_MOST];
    struct thread_label labels[THREAD_LABELS];
    struct launch launches[THREAD_LAUNCHES];
    uintptr_t op_names[THREAD_OP_NAMES]; /* of operators: those that were told last */
};

struct birth { /* what is known of a thread that begins */
    uint32_t creator;
    uintptr_t stack_low, stack_high;
};

struct local { /* TLS */
    /* Bytes to the next sample, below zero: take the long way. Never more than the size from which
     * each block is recorded (whole.h), so that such a block takes it as well; what is beyond that
     * is in `rest`.
     */
    int64_t left;
    struct thread *thread; /* NULL: take the long way */
    struct thread *parked; /* the thread while its ring is full */
    int64_t rest;
    uint64_t random;
    uintptr_t busy; /* where our frame is while we are inside, else 0 */
    uint32_t mode;  /* the one that `left` is for */
    uint32_t pass;  /* the mode in which `left` >= 0 lets a call pass; in exact mode, none */
    uint8_t quiet;  /* not in the malloc family: malloc may be interrupted, do not call it */
    uint8_t synced; /* mode and pass are set */
    uint8_t ended;  /* the thread's destructors have run */
    uint8_t asks;   /* the program is inside pthread_getattr_np, and has its lock */
    uint8_t ours;   /* libc allocates for us: not the program's doing */
    uint8_t muted;  /* another allocator is at work, whose blocks are told by themselves */
    uint8_t turns;  /* blocks that are recorded each, to look at something once in a while */
    uint8_t masked; /* the program believes that it has blocked our signal */
    uint8_t cut;    /* a sample has ended a wait of the thread, see restart.h */
    uint8_t ranges; /* that are open, see ranges.h; no more than 255 are told apart */
    uint8_t faults; /* the program believes that it has blocked SIGSEGV (1), SIGTRAP (2) */
    uint8_t device; /* a vendor's library is at work: it calls itself, and not the program it */

    uint32_t refused;          /* the recording in which it could not have a ring; 0: none */
    uint64_t refused_tick;     /* when */
    const struct birth *birth; /* while the thread begins, else NULL */
};

extern __thread struct local local __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct home { /* a page of its own that the kernel empties in a forked child */
    _Alignas(ARCH_PAGE_MOST)
        uint32_t session; /* which recording this is for the process; 0: a new child */
};

extern struct home home __attribute__((visibility("hidden")));

#define SPARE_THREADS 64

/* Mode off: what an unrecorded process looks at. */
extern struct ring_control nobody __attribute__((visibility("hidden")));

struct process {
    /* Never NULL: a page of our own with mode off when not recorded, and before that is known.
     * Other threads may look while the first one finds out.
     */
    _Atomic(struct ring_control *) control;
    _Atomic(_Atomic uint32_t *) mode; /* never NULL: the collector's, or one of our own */
    struct ring_slot *slots;
    uint32_t session;        /* recordings that this process was in */
    _Atomic uint32_t forks;  /* between the first process with this memory and this one */
    unsigned int depth;      /* most frames of a stack: 8 .. RING_DEPTH_MOST */
    _Atomic uint32_t number; /* of this incarnation; 0: none yet */
    uint32_t parent;
    _Atomic uint32_t generation;
    _Atomic(struct thread *) threads;
    _Atomic(struct thread *) spare[SPARE_THREADS]; /* of threads that have ended */
    struct lookup rows, modules, live, codes;
    struct numbers stacks;
    _Atomic uint64_t sampled_bytes, sampled_since; /* tick */
    _Atomic uint32_t kept;                         /* blocks in `live` */
    _Atomic uint64_t sampled_alive;                /* what the sampled ones of them stand for */
    _Atomic uint64_t modules_later;                /* a tick after the last module was told */
    _Atomic uint32_t unloading; /* threads that are telling that some have gone */
    _Atomic bool
        devices; /* it uses one: each of its allocations is told, also where samples are taken */
};

extern struct process process __attribute__((visibility("hidden")));

static inline uint32_t process_mode(void)
{
    _Atomic uint32_t *mode = atomic_load_explicit(&process.mode, memory_order_acquire);

    return atomic_load_explicit(mode, memory_order_relaxed);
}

/* Does it sample blocks, with their stacks or without? */
static inline bool mode_is_sampled(uint32_t mode)
{
    return (mode & ~RING_OUTSIDE) == RING_SAMPLED;
}

/* Does this mode record every block, or every death of one while it is paused? */
static inline bool mode_is_exact(uint32_t mode)
{
    return (mode & RING_MODES) == RING_EXACT;
}

#endif
