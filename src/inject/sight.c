/* sight - see sight.h.
 *
 * Frames are followed from the innermost outward. Where one is met that the last look had, all
 * beyond it may be the same: they are compared, word by word, and if every one of them is, the look
 * ends there. If one has changed, those before it are taken over as they are, and the walk goes on
 * behind it.
 */
#include "inject/sight.h"

#include "inject/codes.h"
#include "inject/python.h"
#include "python/pyframes.h"

#define DEEP_MOST 65536u /* frames of a look that cannot be kept */

static inline uint64_t stir(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

/* A thread's own PyThreadState can be read as it is; what that points to is a word of its stack, or
 * of a frame that is not ready.
 */
static bool start(const struct py_memory *m, uintptr_t tstate, uintptr_t *at)
{
    const struct py_layout *l = &python.layout;

    *at = *(const volatile uintptr_t *)(tstate + l->tstate_frame);
    return l->cframe_frame == PY_ABSENT || !*at || py_read_word(m, *at + l->cframe_frame, at);
}

/* A code's address may be used again, but hardly with the same table of lines. */
static inline bool read_lines(const struct py_memory *m, uintptr_t code, uintptr_t *lines)
{
    const struct py_layout *l = &python.layout;
    uintptr_t type;

    if (m->read && (!py_read_word(m, code + l->type, &type) || type != l->code_type))
        return false;
    return py_read_word(m, code + l->code_lines, lines);
}

static uint64_t hash_after(uint64_t before, const struct seen_frame *f)
{
    return stir(stir(stir(before + f->entry, f->code), f->instruction), f->lines);
}

/* ---- what the last look had ---- */

/* Where it had the frame at this address, at most `last`; SEEN_MOST: nowhere. */
static inline size_t place_of(const struct sight *s, uintptr_t at, size_t end)
{
    size_t place = s->places[(at >> 4) % SEEN_PLACES] - 1u;

    return place < end && s->frames[place].at == at ? place : SEEN_MOST;
}

/* Does a link that leads over frames of C code still lead to this one? */
static bool leads_on(const struct py_memory *m, uintptr_t at, uintptr_t next)
{
    struct py_link k;

    return py_link_next(&python.layout, m, &at, &k) != PY_BAD && at == next;
}

static inline bool is_unchanged(const struct py_memory *m, const struct seen_frame *f,
                                uintptr_t next)
{
    struct py_link k;
    uintptr_t lines;

    return py_link_read(&python.layout, m, f->at, &k) && !k.is_c && k.previous == f->previous &&
           k.code == f->code && k.instruction == f->instruction &&
           (python.layout.frame_is_entry == PY_ABSENT || k.is_entry == f->entry) &&
           read_lines(m, k.code, &lines) && lines == f->lines &&
           (!f->crossed || leads_on(m, f->previous, next));
}

/* The same for a thread that looks at itself: each address was just read from the frame before, so
 * it is a frame's. What else a word holds is masked.
 */
static size_t count_plain(const struct sight *s, const struct py_memory *m, size_t end)
{
    const struct py_layout l = python.layout;
    uintptr_t whole = l.lines == PY_LINES_LOCATIONS ? UINTPTR_MAX : UINT32_MAX;
    bool says = l.frame_is_entry != PY_ABSENT;
    size_t i = end;

    for (; i > 0; i--) {
        const struct seen_frame *f = &s->frames[i - 1];

        if ((sight_word(f->at, l.frame_previous) ^ f->previous) |
            ((sight_word(f->at, l.frame_code) ^ f->code) & ~(uintptr_t)7) |
            ((sight_word(f->at, l.frame_instruction) ^ f->instruction) & whole) |
            (sight_word(f->code, l.code_lines) ^ f->lines))
            break;
        if (says && *(const volatile bool *)(f->at + l.frame_is_entry) != f->entry)
            break;
        if (f->crossed && !leads_on(m, f->previous, i > 1 ? s->frames[i - 2].at : 0))
            break;
    }
    return end - i;
}

/* How many of the first `end` frames, counted from the last of them, are as they were. */
static size_t count_unchanged(const struct sight *s, const struct py_memory *m, size_t end)
{
    size_t i = end;

    if (!m->read)
        return count_plain(s, m, end);
    while (i > 0 && is_unchanged(m, &s->frames[i - 1], i > 1 ? s->frames[i - 2].at : 0))
        i--;
    return end - i;
}

/* ---- a look ---- */

struct look {
    struct sight *sight;
    const struct py_memory *memory;
    uintptr_t at;  /* the next frame */
    size_t fresh;  /* frames that are not simply those of the last look */
    size_t end;    /* of those of the last look that may still come */
    size_t shared; /* those that are the same */
};

static enum py_step take_fresh(struct look *l)
{
    const struct py_layout *layout = &python.layout;
    struct seen_frame *f = &l->sight->fresh[l->fresh];
    struct py_link k;
    enum py_step step = py_link_next(layout, l->memory, &l->at, &k);
    uintptr_t next;

    if (step != PY_FRAME)
        return step;
    *f = (struct seen_frame){.at = l->at,
                             .previous = k.previous,
                             .code = k.code,
                             .instruction = k.instruction,
                             .entry = py_link_is_entry(layout, l->memory, &k)};
    if (!read_lines(l->memory, k.code, &f->lines))
        return PY_BAD;
    l->at = next = k.previous;
    if (py_link_next(layout, l->memory, &next, &k) == PY_BAD)
        return PY_BAD;
    f->crossed = next != f->previous;
    l->at = next;
    l->fresh++;
    return PY_FRAME;
}

/* Where the last look had this frame: true if all beyond it are the same. Else those are taken over
 * that are, and the walk goes on behind them.
 */
static bool joins(struct look *l)
{
    struct sight *s = l->sight;
    size_t place = place_of(s, l->at, l->end), same;

    if (place == SEEN_MOST)
        return false;
    same = count_unchanged(s, l->memory, place + 1);
    if (same == place + 1) {
        l->shared = same;
        return true;
    }
    for (size_t i = 0; i < same && l->fresh < SEEN_MOST; i++)
        s->fresh[l->fresh++] = s->frames[place - i];
    l->end = place - same;
    l->at = s->frames[place - same].at;
    return false;
}

/* Frames that are new on top of those that are shared. */
static void keep(struct look *l)
{
    struct sight *s = l->sight;
    uint64_t hash = l->shared ? s->frames[l->shared - 1].hash : 0;

    s->count = (uint32_t)(l->shared + l->fresh);
    s->shared = (uint32_t)l->shared;
    for (size_t i = l->shared; i < s->count; i++) {
        struct seen_frame *f = &s->frames[i];

        *f = s->fresh[s->count - 1 - i];
        f->hash = hash = hash_after(hash, f);
        s->places[(f->at >> 4) % SEEN_PLACES] = (uint16_t)(i + 1);
    }
}

/* More frames than are kept: they are hashed alone. */
static enum py_step look_deep(struct thread *t, const struct py_memory *m, uintptr_t at,
                              struct sighting *out)
{
    struct seen_frame f;
    struct py_walk w = {&python.layout, m, at};
    struct py_frame one;
    enum py_step step = PY_END;

    t->sight.count = t->sight.shared = 0;
    while (out->count < DEEP_MOST && (step = py_walk_next(&w, &one)) == PY_FRAME) {
        f = (struct seen_frame){
            .code = one.code, .instruction = one.instruction, .entry = one.entry};
        if (!read_lines(m, f.code, &f.lines))
            return PY_BAD;
        out->hash = hash_after(out->hash, &f);
        out->count++;
    }
    return step;
}

static enum py_step look_on(struct thread *t, const struct py_memory *m, uintptr_t at,
                            struct sighting *out)
{
    struct sight *s = &t->sight;
    struct look l = {.sight = s, .memory = m, .at = at, .end = s->count};
    struct py_link k;
    enum py_step step = py_link_next(&python.layout, m, &l.at, &k);

    while (step == PY_FRAME && l.at && !joins(&l)) {
        if (l.fresh >= SEEN_MOST)
            return look_deep(t, m, at, out);
        step = take_fresh(&l);
    }
    if (step == PY_BAD)
        return step;
    if (l.shared + l.fresh > SEEN_MOST)
        return look_deep(t, m, at, out);
    keep(&l);
    return PY_END;
}

/* Most often it is the same frame that has gone on a little. */
static inline bool look_again(struct sight *s, const struct py_memory *m, uintptr_t at)
{
    const struct py_layout *l = &python.layout;
    size_t below = s->count - 1u;
    struct seen_frame *f = &s->frames[below];
    struct py_link k;
    uintptr_t lines;

    if (m->read || !s->count || f->at != at || f->crossed || !py_link_read(l, m, at, &k) ||
        k.is_c || k.previous != f->previous ||
        (l->frame_is_entry != PY_ABSENT && k.is_entry != f->entry) ||
        count_plain(s, m, below) != below)
        return false;
    lines = sight_word(k.code, l->code_lines);
    s->shared = s->count;
    if (k.code == f->code && k.instruction == f->instruction && lines == f->lines)
        return true;
    s->shared = (uint32_t)below;
    f->code = k.code;
    f->instruction = k.instruction;
    f->lines = lines;
    f->named = false;
    f->hash = hash_after(below ? f[-1].hash : 0, f);
    return true;
}

struct sighting sight_look(struct thread *t, const struct py_memory *m, uintptr_t tstate)
{
    struct sighting out = {0};
    const struct seen_frame *top;
    struct py_link k;
    uintptr_t at;

    t->python_code = 0;
    out.bad = !start(m, tstate, &at) ||
              (!look_again(&t->sight, m, at) && look_on(t, m, at, &out) == PY_BAD);
    if (out.bad)
        return out;
    if (t->sight.count) {
        top = &t->sight.frames[t->sight.count - 1];
        t->python_code = top->code;
        t->python_at = top->instruction;
        return (struct sighting){top->hash, t->sight.count, false};
    }
    if (out.count && py_link_next(&python.layout, m, &at, &k) == PY_FRAME) {
        t->python_code = k.code;
        t->python_at = k.instruction;
    }
    return out;
}

bool sight_name(struct thread *t, const struct py_memory *m, struct seen_frame *f)
{
    const struct py_frame frame = {f->code, f->instruction, f->entry};

    f->named = codes_frame(t, m, &frame, &f->frame);
    return f->named;
}

size_t sight_frames(struct thread *t, const struct py_memory *m, uint64_t entry)
{
    size_t count = 0;

    for (size_t i = t->sight.count; i-- > 0;) {
        struct seen_frame *f = &t->sight.frames[i];

        if (unlikely(!f->named) && !sight_name(t, m, f))
            break;
        if (likely(f->frame)) /* else the interpreter's own helper, no function of the program */
            t->python_frames[count++] = f->frame | (f->entry ? entry : 0);
    }
    return count;
}

/* ---- for the memo ---- */

bool sight_leads_on(uintptr_t at, uintptr_t next)
{
    const struct py_memory plain = {NULL, NULL};

    return leads_on(&plain, at, next);
}

bool sight_read(const struct thread *t, union memo_cell *cells, size_t count, uintptr_t at)
{
    const struct seen_frame *f = &t->sight.frames[t->sight.count];

    if (t->sight.count != count || f[-1].at != at)
        return false;
    for (size_t i = 0; i < count; i++) {
        f--;
        cells[i].frame = (struct memo_frame){f->at,    f->previous, f->code,   f->instruction,
                                             f->lines, f->entry,    f->crossed};
    }
    return true;
}
