/* state - what the library knows inside the target: per process, per thread, per thread in TLS.
 *
 * The rules of this folder: it runs inside somebody's program. No malloc, no stdio, no lock that a
 * signal or a fork could leave taken, nothing that ends the process; errno is as the program left
 * it; TLS is small, zero at first and needs no allocation (initial-exec).
 */
#ifndef INJECT_STATE_H
#define INJECT_STATE_H

#include "inject/glimpse.h"
#include "inject/lookup.h"
#include "trace/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define EXPORT __attribute__((visibility("default")))
#define OUTLINE __attribute__((noinline))

struct caller { /* of a hooked function, at the moment after its return */
    uintptr_t pc, sp, rbp;
};

/* Needs a frame pointer in the function that uses it, which these builtins enforce. */
#define CALLER()                                                                                   \
    ((struct caller){(uintptr_t)__builtin_return_address(0),                                       \
                     (uintptr_t)__builtin_frame_address(0) + 16,                                   \
                     *(uintptr_t *)__builtin_frame_address(0)})

struct pc_row {
    uintptr_t pc;
    uint64_t row;
};

struct numbered {
    uint64_t hash;
    uint64_t number;
};

struct memo_entry {
    uint64_t key; /* of the two innermost return addresses and the stack pointer */
    uintptr_t sp, rbp;
    uint64_t start; /* of its words, counted from the thread's first */
    uint32_t stack;
    uint16_t words;
    uint8_t needs_rbp;
};

#define MEMO_SETS 512u
#define MEMO_WAYS 4u
#define MEMO_WORDS (1u << 16)
#define MEMO_WORDS_EACH 4096u /* of one stack, at most */
#define PC_ROWS 1024u
#define NUMBERED 1024u
#define FOREIGN_BYTES 32768u
#define CODES_NEAR 512u
#define LINES_NEAR 1024u
#define MIXED_MOST (2 * RING_DEPTH_MOST + 16)

struct memo {
    uint64_t top;
    uint8_t turn[MEMO_SETS];
    struct memo_entry entries[MEMO_SETS * MEMO_WAYS];
    uint32_t offsets[MEMO_WORDS]; /* from sp */
    uint64_t values[MEMO_WORDS];
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
    uint32_t creator;    /* the stack that started it; 0: not known */
    uint64_t cpu_ns;     /* its CPU clock at its last sample */
    uint64_t timer_ns;   /* its timer's interval */
    int timer_tid;       /* the thread that its CPU timer is for; 0: none */
    _Atomic int timer;   /* its number + 1; 0: none */
    struct thread *next; /* of the process's list, which only grows */
    struct pc_row pcs[PC_ROWS];
    struct numbered stacks[NUMBERED];
    uint64_t frames[RING_DEPTH_MOST + 8];
    uint64_t outer[RING_DEPTH_MOST / 4];
    uint64_t foreign[FOREIGN_BYTES / 8]; /* a copy of a stack that is not the thread's own */
    struct memo memo;
    size_t walked; /* frames that the last walk left in `frames`; 0: the memo knew the stack */
    bool python; /* it has had a PyThreadState: the memo's numbers are of native parts of stacks */
    struct numbered codes[CODES_NEAR], lines[LINES_NEAR]; /* of Python */
    struct numbered joined[NUMBERED]; /* stacks by native part and Python frames */
    uint64_t python_frames[RING_DEPTH_MOST + 8];
    uint64_t mixed[MIXED_MOST];
    uintptr_t python_code, python_at; /* the innermost frame of the last look; 0: none */
    char text[RING_TEXT_MOST];
    struct glimpse glimpse;
};

struct birth { /* what is known of a thread that begins */
    uint32_t creator;
    uintptr_t stack_low, stack_high;
};

struct local {             /* TLS */
    int64_t left;          /* bytes to the next sample; below zero: take the long way */
    struct thread *thread; /* NULL: take the long way */
    struct thread *parked; /* the thread while its ring is full */
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
    uint8_t turns;  /* allocations in exact mode, to look at something once in a while */
    uint8_t masked; /* the program believes that it has blocked our signal */
    uint8_t cut;    /* a sample has ended a wait of the thread, see restart.h */
    const struct birth *birth; /* while the thread begins, else NULL */
};

extern __thread struct local local __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct home { /* a page of its own that the kernel empties in a forked child */
    _Alignas(4096) uint32_t session; /* which recording this is for the process; 0: a new child */
};

extern struct home home __attribute__((visibility("hidden")));

#define SPARE_THREADS 64

struct process {
    /* Never NULL: a page of our own with mode off when not recorded, and before that is known. Other
     * threads may look while the first one finds out.
     */
    _Atomic(struct ring_control *) control;
    _Atomic(_Atomic uint32_t *) mode; /* never NULL: the collector's, or one of our own */
    struct ring_slot *slots;
    uint32_t session;        /* recordings that this process was in */
    unsigned int depth;      /* most frames of a stack: 8 .. RING_DEPTH_MOST */
    _Atomic uint32_t number; /* of this incarnation; 0: none yet */
    uint32_t parent;
    _Atomic uint32_t generation;
    _Atomic(struct thread *) threads;
    _Atomic(struct thread *) spare[SPARE_THREADS]; /* of threads that have ended */
    struct lookup rows, stacks, modules, live, codes;
    _Atomic uint64_t sampled_bytes, sampled_since; /* tick */
    _Atomic uint64_t modules_later;                /* a tick after the last module was told */
    char ring_path[64];
};

extern struct process process __attribute__((visibility("hidden")));

static inline uint32_t process_mode(void)
{
    _Atomic uint32_t *mode = atomic_load_explicit(&process.mode, memory_order_acquire);

    return atomic_load_explicit(mode, memory_order_relaxed);
}

/* Does this mode record every block, or every death of one while it is paused? */
static inline bool mode_is_exact(uint32_t mode)
{
    return (mode & ~RING_PAUSED) == RING_EXACT;
}

/* Begin to record in this thread: NULL when nothing shall be recorded now (not recorded at all, or
 * already inside, which is counted). With a thread, record_leave must follow.
 */
struct thread *record_enter_slow(uintptr_t frame);

static inline struct thread *record_enter(uintptr_t frame)
{
    struct thread *t = local.thread;

    if (unlikely(!t || local.busy || t->session != home.session))
        return record_enter_slow(frame);
    local.busy = frame;
    __asm__ volatile("" ::: "memory");
    return t;
}

static inline void record_leave(void)
{
    __asm__ volatile("" ::: "memory");
    local.busy = 0;
}

#endif
