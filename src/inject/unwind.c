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

/* Is what the thread remembers of other modules than there are now? */
static inline bool is_old(const struct thread *t)
{
    return t->generation != atomic_load_explicit(&process.generation, memory_order_relaxed);
}

struct looker { /* who asks for a stack */
    struct caller at;
    uintptr_t tstate; /* 0: no Python frames are to be read */
    struct py_memory memory;
};

/* Walk the native stack into t->frames: how many frames there are. *second is the caller; all 0
 * where the memo is not for it, which needs a plain first step on our own stack: see unwind_stack.
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

/* The first step is made by hand: to the caller. */
static bool step_out(struct thread *t, struct caller at, struct memo_step *out)
{
    const struct pc_row *near = walk_near(t, at.pc);
    uint32_t row = (uint32_t)near->row;
    intptr_t saved = cfi_fp(row) * 8;
    uintptr_t cfa;

    if (unlikely(near->pc != at.pc || at.sp < t->stack_low || (cfi_type(row) | 1) != CFI_FP))
        return false;
    out->by_fp = cfi_type(row) == CFI_FP;
    cfa = (out->by_fp ? at.fp : at.sp) + (uintptr_t)cfi_offset(row);
    if (unlikely(cfa <= at.sp || cfa > t->stack_high || (cfa & 7)))
        return false;
    out->to = (struct caller){*(const volatile uintptr_t *)(cfa + (uintptr_t)ARCH_RETURN_OFFSET),
                              cfa, at.fp};
    out->fp_at = 0;
    if (saved == CFI_FP_KEPT * 8)
        return true;
    out->fp_at = cfa + (uintptr_t)saved;
    if (unlikely(saved >= 0 || out->fp_at < at.sp))
        return false;
    out->to.fp = *(const volatile uintptr_t *)out->fp_at;
    return true;
}

/* What the memo is asked for: a call, and what runs in Python. False: it is not for such. */
static inline bool call_of(struct thread *t, struct caller at, uintptr_t tstate,
                           struct memo_call *c)
{
    uintptr_t python_at = tstate ? sight_top(tstate) : 0;

    *c = (struct memo_call){.pc = at.pc, .sp = at.sp, .fp = at.fp, .python = python_at};
    if (!step_out(t, at, &c->out))
        return false;
    c->key = memo_key(c, python_at ? sight_word(python_at, python.layout.frame_instruction) : 0);
    return true;
}

/* The number of the native frames, `count` of t->frames, and of those of the last look, if there
 * are any. */
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
    if (memo && known && stack && second.sp && !sight.bad && !local.parked &&
        call_of(t, l->at, l->tstate, &call) && call.out.to.sp == second.sp)
        memo_remember(t, &call, stack, sight.count);
    return stack;
}

/* What the memo did not expect, by registers alone: who expects it all has no struct to make. */
static OUTLINE uint32_t find_or_walk(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp,
                                     uintptr_t tstate)
{
    const struct looker l = {{pc, sp, fp}, tstate, {NULL, NULL}};
    struct memo_call call;
    uint32_t stack = memo_recall_other(&t->memo, pc, sp, fp, tstate ? sight_top(tstate) : 0);

    if (!stack && memo_is_asked(&t->memo) && likely(call_of(t, l.at, tstate, &call)))
        stack = memo_search(&t->memo, &call);
    return likely(stack) ? stack : walk_all(t, &l, true);
}

static inline __attribute__((always_inline)) uint32_t stack_of(struct thread *t, struct caller at,
                                                               uintptr_t tstate)
{
    uint32_t stack = memo_recall(&t->memo, at.pc, at.sp, at.fp, tstate ? sight_top(tstate) : 0);

    return likely(stack) ? stack : find_or_walk(t, at.pc, at.sp, at.fp, tstate);
}

/* The thread's PyThreadState, if its frames are to be read. */
static inline uintptr_t tstate_of(struct thread *t, bool interrupted)
{
    uintptr_t tstate = python_own_tstate(t);

    t->tstate = tstate && python_ready(t, tstate, interrupted) ? tstate : 0;
    return t->tstate;
}

static OUTLINE uint32_t python_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    return stack_of(t, (struct caller){pc, sp, fp}, tstate_of(t, false));
}

uint32_t unwind_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    if (unlikely(is_old(t)))
        unwind_forget(t);
    return python_any() ? python_stack(t, pc, sp, fp) : stack_of(t, (struct caller){pc, sp, fp}, 0);
}

/* The state of who holds the GIL is alive, and is the thread's own where it was so before: a word
 * to read, where asking for the thread's own takes several calls.
 */
uint32_t unwind_python(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    uintptr_t tstate;

    if (unlikely(is_old(t)) || unlikely(!t->tstate))
        return unwind_stack(t, pc, sp, fp);
    tstate = (uintptr_t)python.current();
    if (unlikely(tstate != t->tstate))
        return unwind_stack(t, pc, sp, fp);
    return stack_of(t, (struct caller){pc, sp, fp}, tstate);
}

/* It is told as every other stack, so children, other threads and a new collector know it in the
 * same way. */
uint32_t unwind_outside(struct thread *t)
{
    const uint64_t frame = RING_FRAME_OUTSIDE | window_been();
    uint32_t stack;
    bool known;

    if (unlikely(is_old(t)))
        unwind_forget(t);
    stack = stacks_number(t, &frame, 1, &known);
    meld_kept(t, false);
    return stack;
}

/* The interpreter may have been in the middle of making or clearing a frame. An address is taken as
 * one after a call, which is looked up one byte before.
 */
uint32_t unwind_interrupted(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct looker l = {{pc + 1, sp, fp}, 0, {NULL, NULL}};

    if (unlikely(is_old(t)))
        unwind_forget(t);
    if (!python_any())
        return stack_of(t, l.at, 0);
    l.memory = glimpse_begin(&t->glimpse);
    t->python_code = 0;
    l.tstate = tstate_of(t, true);
    if (!glimpse_allowed())
        l.tstate = 0;
    return walk_all(t, &l, false);
}

void unwind_forget(struct thread *t)
{
    t->generation = atomic_load(&process.generation);
    t->tstate = 0;
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
