/* unwind - see unwind.h: the memo of stacks, and the walk when it does not know. */
#include "inject/unwind.h"

#include "inject/cfi.h"
#include "inject/meld.h"
#include "inject/memo.h"
#include "inject/mixed.h"
#include "inject/ownstack.h"
#include "inject/path.h"
#include "inject/python.h"
#include "inject/sight.h"
#include "inject/stacks.h"
#include "inject/walk.h"
#include "inject/window.h"

#include <string.h>

struct looker { /* who asks for a stack */
    struct caller at;
    uintptr_t tstate; /* 0: no Python frames are to be read */
    struct py_memory memory;
};

/* Walk the native stack into t->frames: how many frames there are. *second is the caller; all 0 where the
 * memo is not for it, which needs a plain first step on our own stack: see unwind_stack.
 */
static size_t walk_native(struct thread *t, struct caller c, struct caller *second)
{
    struct walk w = {0};
    enum walk_step step;
    size_t count;
    bool plain;

    if (unlikely(!t->stack_high && !local.quiet && !local.asks))
        ownstack_find(t);
    t->path.shared = 0;
    walk_start(&w, t, c);
    t->frames[0] = c.pc;
    step = walk_step(&w);
    if (step == WALK_END || step == WALK_CUT) {
        t->frames[1] = RING_FRAME_CUT;
        return step == WALK_CUT ? 2 : 1;
    }
    plain = w.kept && step == WALK_CALLER && w.bias == 0 && w.at.sp >= c.sp;
    t->frames[1] = w.at.pc | (step == WALK_GUESSED ? RING_FRAME_GUESSED : 0);
    if (plain)
        *second = w.at;
    count = walk_frames(&w, 2, process.depth);
    if (!w.kept)
        *second = (struct caller){0};
    return count;
}

/* What the memo is asked for: the call whose second frame this is, and what runs in Python. */
static inline struct memo_call call_of(uintptr_t pc, struct caller second, uintptr_t tstate)
{
    uintptr_t at = tstate ? sight_top(tstate) : 0;
    uintptr_t instruction = at ? *(const volatile uintptr_t *)(at + python.layout.frame_instruction)
                               : 0;

    return memo_call(pc, second, at, instruction);
}

/* The number of the native frames, `count` of t->frames, and of those of the last look, if there are any. */
static uint32_t number_of(struct thread *t, const struct looker *l, size_t count, bool looked,
                          bool *known)
{
    size_t shared, more;
    bool melds = looked && meld_frames(t, &l->memory, count, &shared, &more);
    uint32_t stack;

    if (melds) {
        stack = stacks_grown(t, shared, more, known);
    } else {
        walk_fill(t, count);
        if (looked)
            count = mixed_merge(t, &l->memory, l->tstate, count);
        stack = stacks_number(t, looked ? t->mixed : t->frames, count, known);
    }
    meld_kept(t, melds);
    return stack;
}

/* What the memo did not know. */
static OUTLINE uint32_t walk_all(struct thread *t, const struct looker *l, bool memo)
{
    struct caller second = {0};
    size_t count = walk_native(t, l->at, &second);
    struct sighting sight = l->tstate ? sight_look(t, &l->memory, l->tstate) : (struct sighting){0};
    struct memo_call call;
    uint32_t stack;
    bool known;

    if (sight.bad)
        python_torn(t);
    stack = number_of(t, l, count, !sight.bad && sight.count, &known);
    if (memo && known && stack && second.sp && !sight.bad && !local.parked) {
        call = call_of(l->at.pc, second, l->tstate);
        memo_remember(t, &call, stack, sight.count);
    }
    return stack;
}

/* The first step is made by hand: to the caller, whose frame is in *at then. */
static inline __attribute__((always_inline)) bool step_out(struct thread *t, struct caller *at)
{
    const struct pc_row *near = walk_near(t, at->pc);
    uint32_t row = (uint32_t)near->row;
    intptr_t saved = cfi_fp(row) * 8;
    uintptr_t cfa;

    if (unlikely(near->pc != at->pc || at->sp < t->stack_low || (cfi_type(row) | 1) != CFI_FP))
        return false;
    cfa = (cfi_type(row) == CFI_SP ? at->sp : at->fp) + (uintptr_t)cfi_offset(row);
    if (unlikely(cfa <= at->sp || cfa > t->stack_high || (cfa & 7)))
        return false;
    at->pc = *(const volatile uintptr_t *)(cfa + (uintptr_t)ARCH_RETURN_OFFSET);
    if (saved != CFI_FP_KEPT * 8) {
        if (unlikely(saved >= 0 || cfa + (uintptr_t)saved < at->sp))
            return false;
        at->fp = *(const volatile uintptr_t *)(cfa + (uintptr_t)saved);
    }
    at->sp = cfa;
    return true;
}

/* What the memo did not know, by registers alone: who knows it all has no struct to make. */
static OUTLINE uint32_t walk_plain(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp,
                                   uintptr_t tstate)
{
    const struct looker l = {{pc, sp, fp}, tstate, {NULL, NULL}};

    return walk_all(t, &l, true);
}

/* Then the memo is asked. */
static inline __attribute__((always_inline)) uint32_t stack_of(struct thread *t, struct caller at,
                                                               uintptr_t tstate)
{
    struct caller second = at;
    struct memo_call call;
    uint32_t stack = 0;

    if (unlikely(t->generation != atomic_load_explicit(&process.generation, memory_order_relaxed)))
        unwind_forget(t);
    if (likely(step_out(t, &second))) {
        call = call_of(at.pc, second, tstate);
        stack = memo_recall(t, &call);
    }
    return likely(stack) ? stack : walk_plain(t, at.pc, at.sp, at.fp, tstate);
}

/* The thread's PyThreadState, if its frames are to be read. */
static inline uintptr_t tstate_of(struct thread *t, bool interrupted)
{
    uintptr_t tstate = python_own_tstate(t);

    return tstate && python_ready(t, tstate, interrupted) ? tstate : 0;
}

static OUTLINE uint32_t python_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    return stack_of(t, (struct caller){pc, sp, fp}, tstate_of(t, false));
}

uint32_t unwind_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    return python_any() ? python_stack(t, pc, sp, fp) : stack_of(t, (struct caller){pc, sp, fp}, 0);
}

/* It is told as every other stack, so children, other threads and a new collector know it in the same way. */
uint32_t unwind_outside(struct thread *t)
{
    const uint64_t frame = RING_FRAME_OUTSIDE | window_been();
    uint32_t stack;
    bool known;

    if (unlikely(t->generation != atomic_load_explicit(&process.generation, memory_order_relaxed)))
        unwind_forget(t);
    stack = stacks_number(t, &frame, 1, &known);
    meld_kept(t, false);
    return stack;
}

/* The interpreter may have been in the middle of making or clearing a frame. An address is taken as one after
 * a call, which is looked up one byte before.
 */
uint32_t unwind_interrupted(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct looker l = {{pc + 1, sp, fp}, 0, {NULL, NULL}};

    if (!python_any())
        return stack_of(t, l.at, 0);
    l.memory = glimpse_begin(&t->glimpse);
    t->python_code = 0;
    l.tstate = tstate_of(t, true);
    if (!glimpse_allowed())
        l.tstate = 0;
    if (unlikely(t->generation != atomic_load_explicit(&process.generation, memory_order_relaxed)))
        unwind_forget(t);
    return walk_all(t, &l, false);
}

void unwind_forget(struct thread *t)
{
    t->generation = atomic_load(&process.generation);
    memset(t->pcs, 0, sizeof(t->pcs));
    memset(t->stacks, 0, sizeof(t->stacks));
    t->told.count = t->sight.count = 0;
    meld_kept(t, false);
    path_forget(t);
    if (t->has_codes) { /* else their pages stay untouched */
        memset(t->codes, 0, sizeof(t->codes));
        memset(t->lines, 0, sizeof(t->lines));
        memset(t->line_places, 0, sizeof(t->line_places));
        t->has_codes = false;
    }
    memo_forget(&t->memo);
}
