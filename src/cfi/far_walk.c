/* far_walk - see far_walk.h. */
#include "cfi/far_walk.h"

#include "arch/arch.h"

#include <string.h>

#define WINDOW 4096u       /* of the stack, read at once */
#define SEARCH_MOST 65536u /* of it, looked through for a frame */
#define CODE_MOST 16384u   /* of a function, before its call */
#define TRIES_MOST 256u    /* words that may be return addresses, in one walk */
#define REALIGNED_MOST 4096u
#define FRAME_ALIGN 16u /* of a frame pointer */
#define POINTER sizeof(uintptr_t)

struct walk {
    const struct far_code *code;
    uintptr_t pc, sp, fp;
    bool fp_known;
    bool guessed;
    unsigned int tries;
    uintptr_t low, high; /* what is in `window` */
    unsigned char window[WINDOW];
};

enum step { STEP_END, STEP_CUT, STEP_CALLER };

static bool load(struct walk *w, uintptr_t at, uintptr_t *value)
{
    if (at % POINTER)
        return false;
    if (at < w->low || at >= w->high || w->high - at < POINTER) {
        w->low = at;
        w->high = at + far_read_some(&w->code->memory, at, w->window, sizeof(w->window));
        if (w->high - at < POINTER)
            return false;
    }
    memcpy(value, w->window + (at - w->low), POINTER);
    return true;
}

static struct far_place place_of(const struct walk *w, uintptr_t pc)
{
    return w->code->place(w->code->context, pc);
}

static bool is_return(const struct walk *w, uintptr_t pc)
{
    struct far_place p = place_of(w, pc);

    return p.called || (p.code && cfi_type(p.row.row) == CFI_SIGNAL);
}

/* ---- a frame pointer that nobody has saved ---- */

/* Does the call before a return address lead to this function, be it through a stub? */
static bool leads_to(const struct walk *w, uintptr_t back, uintptr_t start)
{
    const struct far *m = &w->code->memory;
    unsigned char call[ARCH_CALL_BYTES], stub[ARCH_STUB_BYTES];
    uintptr_t target, slot, word;

    if (!far_read(m, back - sizeof(call), call, sizeof(call)) ||
        arch_call(call, back, &target) != ARCH_CALL_DIRECT)
        return false;
    if (target == start)
        return true;
    slot = far_read(m, target, stub, sizeof(stub)) ? arch_stub_slot(stub, target) : 0;
    return slot && far_read(m, slot, &word, sizeof(word)) && word == start;
}

/* The return address of a frame, if its pointer is there; false: it cannot be. */
static bool try_frame(struct walk *w, uint32_t row, uintptr_t fp, uintptr_t *back)
{
    uintptr_t cfa = fp + (uintptr_t)cfi_offset(row), copy;

    if (cfi_type(row) != CFI_DEREF)
        return load(w, cfa + (uintptr_t)ARCH_RETURN_OFFSET, back);
    /* A realigned stack has the address twice. */
    return load(w, cfa, &cfa) && cfa > fp && cfa - fp < REALIGNED_MOST &&
           load(w, cfa + (uintptr_t)ARCH_RETURN_OFFSET, back) &&
           load(w, fp + ARCH_LINK_BYTES + (uintptr_t)ARCH_RETURN_OFFSET, &copy) && copy == *back;
}

/* By what the function does first: it has taken so much, and has saved some registers before. What
 * is in these is no return address, so the first one is its own.
 */
static bool fp_by_code(struct walk *w, const struct far_row *r)
{
    unsigned char code[CODE_MOST];
    uintptr_t back;
    size_t bytes = w->pc - r->start;
    intptr_t below;

    if (cfi_type(r->row) != CFI_FP || bytes > sizeof(code) ||
        !far_read(&w->code->memory, r->start, code, bytes))
        return false;
    below = arch_frame_bytes(code, bytes);
    for (unsigned int saved = 0; below >= 0 && saved <= ARCH_SAVED_MOST; saved++) {
        uintptr_t fp = w->sp + (uintptr_t)below + saved * POINTER;

        if (fp % FRAME_ALIGN || !try_frame(w, r->row, fp, &back) || !place_of(w, back).called)
            continue;
        w->fp = fp;
        return true;
    }
    return false;
}

/* By who has called it: there must be one word on the stack that only this call can have left. What
 * an earlier one has left would be another: then nothing is proved.
 */
static bool fp_by_caller(struct walk *w, const struct far_row *r)
{
    uintptr_t first = (w->sp + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN, found = 0;

    for (uintptr_t at = first, back; at - first < SEARCH_MOST && load(w, at, &back);
         at += FRAME_ALIGN) {
        if (!try_frame(w, r->row, at, &back) || !w->code->is_code(w->code->context, back - 1))
            continue;
        if (++w->tries > TRIES_MOST)
            return false;
        if (!leads_to(w, back, r->start))
            continue;
        if (found)
            return false;
        found = at;
    }
    w->fp = found;
    return found != 0;
}

static bool know_fp(struct walk *w, const struct far_row *r)
{
    if (!w->fp_known)
        w->fp_known = r->start && (fp_by_code(w, r) || fp_by_caller(w, r));
    return w->fp_known;
}

/* ---- steps ---- */

/* The return address of the frame whose CFA is known, and the caller's frame pointer. */
static enum step leave(struct walk *w, uintptr_t cfa, int fp)
{
    uintptr_t pc;

    if (cfa <= w->sp || !load(w, cfa + (uintptr_t)ARCH_RETURN_OFFSET, &pc))
        return STEP_CUT;
    if (!pc)
        return STEP_END;
    if (!is_return(w, pc))
        return STEP_CUT;
    if (fp == CFI_FP_AT_FP)
        w->fp_known = w->fp_known && load(w, w->fp, &w->fp);
    else if (fp != CFI_FP_KEPT)
        w->fp_known = load(w, cfa + (uintptr_t)(intptr_t)(fp * 8), &w->fp);
    w->sp = cfa;
    w->pc = pc;
    return STEP_CALLER;
}

/* The kernel has saved all registers; what was interrupted is no call, so name the one after. */
static enum step leave_signal(struct walk *w)
{
    uintptr_t s = w->sp, pc, sp, fp;

    if (!load(w, s + ARCH_SIGNAL_FP, &fp) || !load(w, s + ARCH_SIGNAL_SP, &sp) ||
        !load(w, s + ARCH_SIGNAL_PC, &pc) || !place_of(w, pc + 1).code)
        return STEP_CUT;
    w->pc = pc + 1;
    w->sp = sp;
    w->fp = fp;
    w->fp_known = true;
    return STEP_CALLER;
}

/* No unwind data: a frame pointer is believed when it and the next one lie further up this stack,
 * and a return address is beside it.
 */
static enum step guess(struct walk *w)
{
    uintptr_t next, pc;

    if (w->fp_known && !w->fp) /* how the ABI marks the outermost frame */
        return STEP_END;
    if (!w->fp_known || w->fp < w->sp || !load(w, w->fp, &next) ||
        !load(w, w->fp + ARCH_LINK_BYTES + (uintptr_t)ARCH_RETURN_OFFSET, &pc) ||
        (next && next <= w->fp) || !place_of(w, pc).called)
        return STEP_CUT;
    w->sp = w->fp + ARCH_LINK_BYTES;
    w->fp = next;
    w->pc = pc;
    w->guessed = true;
    return STEP_CALLER;
}

static enum step step(struct walk *w)
{
    struct far_row r = place_of(w, w->pc).row;
    uintptr_t cfa;

    w->guessed = false;
    switch (cfi_type(r.row)) {
    case CFI_SP:
        return leave(w, w->sp + (uintptr_t)cfi_offset(r.row), cfi_fp(r.row));
    case CFI_FP:
        if (!know_fp(w, &r))
            return STEP_CUT;
        return leave(w, w->fp + (uintptr_t)cfi_offset(r.row), cfi_fp(r.row));
    case CFI_DEREF:
        if (!know_fp(w, &r) || !load(w, w->fp + (uintptr_t)cfi_offset(r.row), &cfa))
            return STEP_CUT;
        return leave(w, cfa, cfi_fp(r.row));
    case CFI_SIGNAL:
        return leave_signal(w);
    case CFI_END:
        return STEP_END;
    default:
        return guess(w);
    }
}

size_t far_walk(const struct far_code *code, uintptr_t pc, uintptr_t sp, bool exact, uint64_t *out,
                size_t most, bool *whole)
{
    struct walk w = {.code = code, .pc = pc + exact, .sp = sp};
    enum step taken = STEP_CALLER;
    size_t count = 0;

    while (count < most && taken == STEP_CALLER) {
        out[count++] = w.pc | (w.guessed ? FAR_FRAME_GUESSED : 0);
        taken = step(&w);
    }
    *whole = taken == STEP_END;
    return count;
}
