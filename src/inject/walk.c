/* walk - see walk.h. Every read is inside the bounds of a stack that is known to be mapped: the
 * thread's own, or a copy of another one (a fiber's, a signal's) that the kernel made for us.
 */
#include "inject/walk.h"

#include "inject/cfi.h"
#include "inject/modules.h"
#include "inject/sys.h"

#include <string.h>
#include <sys/uio.h>

#define STEPS_MOST 65536

/* In a signal frame, from the CFA of the handler: ucontext's registers. */
#define SIGNAL_RBP 120
#define SIGNAL_RSP 160
#define SIGNAL_RIP 168

static OUTLINE uint32_t row_of(struct thread *t, uintptr_t pc)
{
    struct cfi_module module;
    uint64_t row;
    bool known;

    if (lookup_get(&process.rows, pc, &row))
        return (uint32_t)row;
    row = cfi_find(pc - 1, &module, &known);
    if (!known)
        return (uint32_t)row; /* code made at run time may be replaced by a module */
    modules_seen(t, &module);
    lookup_put(&process.rows, pc, row);
    return (uint32_t)row;
}

static inline uint32_t near_row(struct thread *t, uintptr_t pc)
{
    struct pc_row *near = walk_near(t, pc);
    uint32_t row;

    if (likely(near->pc == pc))
        return (uint32_t)near->row;
    row = row_of(t, pc);
    if (cfi_type(row) != CFI_GAP)
        *near = (struct pc_row){pc, row};
    return row;
}

/* Choose what may be read around sp. */
static void look_at(struct walk *w, uintptr_t sp)
{
    struct thread *t = w->thread;
    struct iovec to = {t->foreign, FOREIGN_BYTES}, from = {(void *)sp, FOREIGN_BYTES};
    long got;

    if (sp >= t->stack_low && sp < t->stack_high) {
        w->low = sp;
        w->high = t->stack_high;
        w->bias = 0;
        return;
    }
    got = sys_call(SYS_process_vm_readv, sys_pid(), (long)&to, 1, (long)&from, 1, 0);
    w->kept = false;
    w->low = sp;
    w->high = got > 0 ? sp + (uintptr_t)got : sp;
    w->bias = (intptr_t)((uintptr_t)t->foreign - sp);
}

void walk_start(struct walk *w, struct thread *t, struct caller c)
{
    w->thread = t;
    w->at = c;
    w->rbp_from = 0;
    w->rbp_noted = w->needs_rbp = false;
    w->kept = true;
    w->words = 0;
    w->base = c.sp;
    look_at(w, c.sp);
}

static inline bool load(const struct walk *w, uintptr_t at, uintptr_t *value)
{
    if (unlikely(at < w->low || at > w->high - 8 || (at & 7)))
        return false;
    *value = *(const volatile uintptr_t *)(at + (uintptr_t)w->bias);
    return true;
}

static inline void note(struct walk *w, uintptr_t at, uintptr_t value)
{
    if (!w->kept)
        return;
    if (w->words == w->most) {
        w->kept = false;
        return;
    }
    w->offsets[w->words] = (uint32_t)(at - w->base);
    w->values[w->words++] = value;
}

static inline void note_rbp(struct walk *w)
{
    if (!w->rbp_from)
        w->needs_rbp = true;
    else if (!w->rbp_noted)
        note(w, w->rbp_from, w->at.rbp);
    w->rbp_noted = true;
}

static inline bool take_rbp(struct walk *w, uintptr_t at)
{
    if (!load(w, at, &w->at.rbp))
        return false;
    w->rbp_from = at;
    w->rbp_noted = false;
    return true;
}

/* The return address of the frame whose CFA is known, and all else that changes with it. */
static inline enum walk_step leave(struct walk *w, uintptr_t cfa, int rbp)
{
    uintptr_t pc;

    if (unlikely(cfa <= w->at.sp || !load(w, cfa - 8, &pc)))
        return WALK_CUT;
    note(w, cfa - 8, pc);
    if (rbp == CFI_RBP_AT_RBP) {
        note_rbp(w);
        if (!take_rbp(w, w->at.rbp))
            return WALK_CUT;
    } else if (rbp != CFI_RBP_KEPT && !take_rbp(w, cfa + (uintptr_t)(intptr_t)(rbp * 8))) {
        return WALK_CUT;
    }
    if (!pc)
        return WALK_END;
    w->at.pc = pc;
    w->at.sp = cfa;
    return WALK_CALLER;
}

/* The kernel saved all registers; the interrupted instruction is not a call, so name the one after. */
static enum walk_step leave_signal(struct walk *w)
{
    uintptr_t s = w->at.sp, pc, sp, rbp;

    if (!load(w, s + SIGNAL_RBP, &rbp) || !load(w, s + SIGNAL_RSP, &sp) ||
        !load(w, s + SIGNAL_RIP, &pc) || !pc)
        return WALK_CUT;
    w->kept = false;
    w->at = (struct caller){pc + 1, sp, rbp};
    look_at(w, sp);
    return WALK_CALLER;
}

/* No unwind data: a frame pointer is believed when it and the next one lie further up this stack. */
static enum walk_step guess(struct walk *w)
{
    uintptr_t frame = w->at.rbp, pc, next;

    if (!frame) { /* how the ABI marks the outermost frame */
        note_rbp(w);
        return WALK_END;
    }
    if (frame < w->at.sp || !load(w, frame, &next) || !load(w, frame + 8, &pc))
        return WALK_CUT;
    if (pc < 4096 || pc >> 47 || (next && (next <= frame || next >= w->high)))
        return WALK_CUT;
    note_rbp(w);
    note(w, frame + 8, pc);
    take_rbp(w, frame);
    w->at.pc = pc;
    w->at.sp = frame + 16;
    return WALK_GUESSED;
}

enum walk_step walk_step(struct walk *w)
{
    uint32_t row = near_row(w->thread, w->at.pc);
    uintptr_t cfa;

    switch (cfi_type(row)) {
    case CFI_RSP:
        return leave(w, w->at.sp + (uintptr_t)cfi_offset(row), cfi_rbp(row));
    case CFI_RBP:
        note_rbp(w);
        return leave(w, w->at.rbp + (uintptr_t)cfi_offset(row), cfi_rbp(row));
    case CFI_DEREF:
        note_rbp(w);
        if (!load(w, w->at.rbp + (uintptr_t)cfi_offset(row), &cfa))
            return WALK_CUT;
        note(w, w->at.rbp + (uintptr_t)cfi_offset(row), cfa);
        return leave(w, cfa, cfi_rbp(row));
    case CFI_SIGNAL:
        return leave_signal(w);
    case CFI_END:
        return WALK_END;
    default:
        return guess(w);
    }
}

/* Frames above `outer` (a ring of the last ones seen) into order after the inner ones. */
static size_t join_ends(uint64_t *frames, size_t inner, const uint64_t *outer, size_t room,
                        size_t seen)
{
    size_t kept = seen < room ? seen : room;

    if (seen > room)
        frames[inner++] = RING_FRAME_ELIDED;
    for (size_t i = 0; i < kept; i++)
        frames[inner++] = outer[(seen - kept + i) % room];
    return inner;
}

size_t walk_frames(struct walk *w, size_t count, unsigned int depth)
{
    uint64_t *frames = w->thread->frames, *outer = w->thread->outer;
    size_t room = depth / 4, inner = depth - room, seen = 0;
    enum walk_step step = WALK_CALLER;
    uint64_t frame;

    for (unsigned int i = 0; i < STEPS_MOST; i++) {
        step = walk_step(w);
        if (step <= WALK_CUT)
            break;
        frame = w->at.pc | (step == WALK_GUESSED ? RING_FRAME_GUESSED : 0);
        if (count < inner)
            frames[count++] = frame;
        else
            outer[seen++ % room] = frame;
    }
    count = join_ends(frames, count, outer, room, seen);
    if (step != WALK_END)
        frames[count++] = RING_FRAME_CUT;
    return count;
}
