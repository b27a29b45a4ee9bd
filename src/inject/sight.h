/* sight - which Python frames a thread is in. Most of them are those of its last look: these are
 * only compared with what was seen then, and need not be hashed or named again.
 */
#ifndef INJECT_SIGHT_H
#define INJECT_SIGHT_H

#include "inject/python.h"
#include "inject/state.h"
#include "python/pymemory.h"

struct sighting {
    uint64_t hash; /* of all frames: which functions, where in them */
    unsigned int count;
    bool bad; /* it broke off */
};

/* The innermost frame of the calling thread, by plain loads: its own PyThreadState can be read as
 * it is. 0: there is none that could be one.
 */
static inline uintptr_t sight_top(uintptr_t tstate)
{
    const struct py_layout *l = &python.layout;
    uintptr_t at = *(const volatile uintptr_t *)(tstate + l->tstate_frame);

    if (l->cframe_frame != PY_ABSENT && at)
        at = *(const volatile uintptr_t *)(at + l->cframe_frame);
    return at & 7 || at < ARCH_PAGE_LEAST ? 0 : at;
}

/* By plain loads, or through t->glimpse when `m` reads so. t->sight has the frames afterwards, none
 * if there are too many for it.
 */
struct sighting sight_look(struct thread *t, const struct py_memory *m, uintptr_t tstate);

/* The frames of the last look as they stand in a STACK, into t->python_frames, the innermost first;
 * the outermost of each call of the interpreter has the bit `entry`, too. Their codes are told to
 * the collector. How many there are; fewer where one cannot be read.
 */
size_t sight_frames(struct thread *t, const struct py_memory *m, uint64_t entry);

/* The same for one of t->sight: f->frame is how it stands in a STACK, 0 where it is none of the
 * program's. */
bool sight_name(struct thread *t, const struct py_memory *m, struct seen_frame *f);

/* ---- for the memo ---- */

/* Those of the last look, `count` of them, the innermost of which is `at`; false: it had others. */
bool sight_read(const struct thread *t, union memo_cell *cells, size_t count, uintptr_t at);

/* Does a link that leads over frames of C code still lead to `next`? */
bool sight_leads_on(uintptr_t at, uintptr_t next);

static inline uintptr_t sight_word(uintptr_t at, uint16_t offset)
{
    return *(const volatile uintptr_t *)(at + offset);
}

/* Are the frames from the innermost on, which is known to be there, as they were? Each address was
 * just read from the frame before, or is the thread's innermost: so it is a frame's.
 */
static inline __attribute__((always_inline)) bool sight_same(const union memo_cell *c, size_t count)
{
    const struct py_layout *l = &python.layout;
    const union memo_cell *end = c + count;
    uintptr_t whole = l->lines == PY_LINES_LOCATIONS ? UINTPTR_MAX : UINT32_MAX;
    bool says = l->frame_is_entry != PY_ABSENT;

    for (; c < end; c++) {
        const struct memo_frame *f = &c->frame;

        if ((sight_word(f->at, l->frame_previous) ^ f->previous) |
            ((sight_word(f->at, l->frame_code) ^ f->code) & ~(uintptr_t)7) |
            ((sight_word(f->at, l->frame_instruction) ^ f->instruction) & whole))
            return false;
        if (sight_word(f->code, l->code_lines) != f->lines ||
            (says && *(const volatile bool *)(f->at + l->frame_is_entry) != f->entry))
            return false;
        if (unlikely(f->crossed) && !sight_leads_on(f->previous, c + 1 < end ? c[1].frame.at : 0))
            return false;
    }
    return true;
}

#endif
