/* walk - see walk.h. Every read is inside the bounds of a stack that is known to be mapped: the
 * thread's own, or a copy of another one (a fiber's, a signal's) that the kernel made for us.
 */
#include "inject/walk.h"

#include "inject/cfi.h"
#include "inject/modules.h"
#include "inject/path.h"
#include "inject/sys.h"

#include <string.h>
#include <sys/uio.h>

#define STEPS_MOST 65536

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

/* The newer of the two stays. */
static void keep_near(struct thread *t, uintptr_t pc, uint32_t row)
{
    struct pc_row *places = walk_places(t, pc);

    places[1] = places[0];
    places[0] = (struct pc_row){pc, row};
}

static inline uint32_t near_row(struct thread *t, uintptr_t pc)
{
    const struct pc_row *near = walk_near(t, pc);
    uint32_t row;

    if (likely(near->pc == pc))
        return (uint32_t)near->row;
    row = row_of(t, pc);
    if (cfi_type(row) != CFI_GAP)
        keep_near(t, pc, row);
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
    w->kept = true;
    t->path.rest = NULL;
    look_at(w, c.sp);
}

static inline bool load(const struct walk *w, uintptr_t at, uintptr_t *value)
{
    if (unlikely(at < w->low || at > w->high - 8 || (at & 7)))
        return false;
    *value = *(const volatile uintptr_t *)(at + (uintptr_t)w->bias);
    return true;
}

/* As a step notes it. */
static inline uint32_t below_end(const struct walk *w, uintptr_t at)
{
    return (uint32_t)(w->thread->stack_high - at);
}

static inline void use_fp(struct walk *w)
{
    if (w->step)
        w->step->uses_fp = true;
}

static inline bool take_fp(struct walk *w, uintptr_t at)
{
    if (!load(w, at, &w->at.fp))
        return false;
    if (w->step)
        w->step->fp_at = below_end(w, at);
    return true;
}

/* The return address of the frame whose CFA is known, and all else that changes with it. */
static inline enum walk_step leave(struct walk *w, uintptr_t cfa, int fp)
{
    uintptr_t pc;

    if (unlikely(cfa <= w->at.sp || !load(w, cfa + (uintptr_t)ARCH_RETURN_OFFSET, &pc)))
        return WALK_CUT;
    if (fp == CFI_FP_AT_FP) {
        use_fp(w);
        if (!take_fp(w, w->at.fp))
            return WALK_CUT;
    } else if (fp != CFI_FP_KEPT && !take_fp(w, cfa + (uintptr_t)(intptr_t)(fp * 8))) {
        return WALK_CUT;
    }
    if (w->step)
        w->step->pc_at = below_end(w, cfa + (uintptr_t)ARCH_RETURN_OFFSET);
    w->at.sp = cfa;
    w->at.pc = pc;
    return pc ? WALK_CALLER : WALK_END;
}

/* The kernel saved all registers; the interrupted instruction is not a call, so name the one after.
 */
static enum walk_step leave_signal(struct walk *w)
{
    uintptr_t s = w->at.sp, pc, sp, fp;

    w->step = NULL;
    if (!load(w, s + ARCH_SIGNAL_FP, &fp) || !load(w, s + ARCH_SIGNAL_SP, &sp) ||
        !load(w, s + ARCH_SIGNAL_PC, &pc) || !pc)
        return WALK_CUT;
    w->kept = false;
    w->at = (struct caller){pc + 1, sp, fp};
    look_at(w, sp);
    return WALK_CALLER;
}

/* What a guess has read, believed or not. */
static void note_guess(struct walk *w, uintptr_t frame, uintptr_t next, uintptr_t pc)
{
    w->at = (struct caller){pc, next, w->at.fp};
    if (w->step) {
        w->step->cfa_at = below_end(w, frame);
        w->step->pc_at = below_end(w, frame + 8);
    }
}

/* No unwind data: a frame pointer is believed when it and the next one lie further up this stack.
 */
static enum walk_step guess(struct walk *w)
{
    uintptr_t frame = w->at.fp, pc, next;

    use_fp(w);
    if (!frame) /* how the ABI marks the outermost frame */
        return WALK_END;
    if (frame < w->at.sp || !load(w, frame, &next) || !load(w, frame + 8, &pc))
        return WALK_CUT;
    if (pc < ARCH_PAGE_LEAST || pc >> ARCH_ADDRESS_BITS ||
        (next && (next <= frame || next >= w->high))) {
        note_guess(w, frame, next, pc);
        return WALK_CUT;
    }
    take_fp(w, frame);
    if (w->step)
        w->step->pc_at = below_end(w, frame + 8);
    w->at.pc = pc;
    w->at.sp = frame + ARCH_LINK_BYTES;
    return WALK_GUESSED;
}

enum walk_step walk_step(struct walk *w)
{
    uint32_t row = near_row(w->thread, w->at.pc);
    uintptr_t cfa;

    switch (cfi_type(row)) {
    case CFI_SP:
        return leave(w, w->at.sp + (uintptr_t)cfi_offset(row), cfi_fp(row));
    case CFI_FP:
        use_fp(w);
        return leave(w, w->at.fp + (uintptr_t)cfi_offset(row), cfi_fp(row));
    case CFI_DEREF:
        use_fp(w);
        if (!load(w, w->at.fp + (uintptr_t)cfi_offset(row), &cfa))
            return WALK_CUT;
        if (w->step)
            w->step->cfa_at = below_end(w, w->at.fp + (uintptr_t)cfi_offset(row));
        return leave(w, cfa, cfi_fp(row));
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

struct frames { /* those that are kept of a walk: the innermost, and the outermost in a ring */
    uint64_t *inner, *outer;
    size_t count, most, room, seen;
};

static inline void put_frame(struct frames *f, uint64_t frame)
{
    if (f->count < f->most)
        f->inner[f->count++] = frame;
    else
        f->outer[f->seen++ % f->room] = frame;
}

static uint64_t frame_of(uintptr_t pc, bool guessed)
{
    return pc | (guessed ? RING_FRAME_GUESSED : 0);
}

/* All but one of a walk's last steps lead to frames; where none is left out they can wait. */
static void take_rest(struct thread *t, struct frames *f, const struct path_step *s, size_t count)
{
    const struct path_step *end = s + count;

    if (f->count + count <= f->most) {
        t->path.rest = s;
        t->path.rest_at = f->count;
        f->count += end[-1].leads ? count : count - 1;
        t->path.rest_end = f->count;
        return;
    }
    for (; s < end; s++)
        if (s->leads)
            put_frame(f, frame_of(s->to.pc, s->guessed));
}

void walk_fill(struct thread *t, size_t end)
{
    const struct path_step *s = t->path.rest;

    if (!s)
        return;
    if (end > t->path.rest_end)
        end = t->path.rest_end;
    for (size_t i = t->path.rest_at; i < end; i++, s++)
        t->frames[i] = frame_of(s->to.pc, s->guessed);
}

/* One step, with what it read. */
static enum walk_step step_noted(struct walk *w)
{
    enum walk_step step;

    w->step = path_leave(w->thread, &w->at);
    step = walk_step(w);
    if (w->step) {
        w->step->to = w->at;
        w->step->leads = step > WALK_CUT;
        w->step->guessed = step == WALK_GUESSED;
    }
    return step;
}

/* On the thread's own stack: as far as the last walk was there as well. */
static enum walk_step walk_own(struct walk *w, struct frames *f)
{
    struct thread *t = w->thread;
    const struct path_step *joined = NULL;
    enum walk_step step = WALK_CALLER;
    size_t count;

    path_begin(t, &w->at);
    for (unsigned int i = 0; i < STEPS_MOST; i++) {
        joined = path_join(t, &w->at, &count);
        if (joined) {
            take_rest(t, f, joined, count);
            step = t->path.cut ? WALK_CUT : WALK_END;
            break;
        }
        step = step_noted(w);
        if (step <= WALK_CUT)
            break;
        put_frame(f, frame_of(w->at.pc, step == WALK_GUESSED));
        if (!w->step)
            break; /* it has left its stack, or has too many frames */
    }
    if (step <= WALK_CUT && (joined || w->step))
        path_end(t, joined, step == WALK_CUT);
    else
        path_forget(t);
    w->step = NULL;
    return step;
}

size_t walk_frames(struct walk *w, size_t count, unsigned int depth)
{
    struct thread *t = w->thread;
    struct frames f = {.inner = t->frames,
                       .outer = t->outer,
                       .count = count,
                       .most = depth - depth / 4,
                       .room = depth / 4};
    bool own = w->bias == 0 && w->at.sp >= t->stack_low && w->at.sp < t->stack_high;
    enum walk_step step = own ? walk_own(w, &f) : WALK_CALLER;

    for (unsigned int i = 0; i < STEPS_MOST && step > WALK_CUT; i++) {
        step = walk_step(w);
        if (step > WALK_CUT)
            put_frame(&f, frame_of(w->at.pc, step == WALK_GUESSED));
    }
    count = join_ends(t->frames, f.count, t->outer, f.room, f.seen);
    if (step != WALK_END)
        t->frames[count++] = RING_FRAME_CUT;
    return count;
}
