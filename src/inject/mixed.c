/* mixed - see mixed.h.
 *
 * A call of the interpreter's function runs the frames up to an entry frame; they stand in its place.
 * Native stacks and Python's may each have lost their middle: then the inner part is matched from
 * inside, the outer one from outside.
 */
#include "inject/mixed.h"

#include "inject/codes.h"
#include "inject/python.h"
#include "python/pyframes.h"

#include <string.h>

#define STEPS_MOST 65536u
#define ENTRY (1ull << 59) /* in t->python_frames: the outermost of its call */

static uint64_t stir(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

/* A walk from the thread's innermost frame. Its own PyThreadState can be read as it is; what that points
 * to is a word of its stack, or of a frame that is not ready.
 */
static bool start(struct py_walk *w, const struct py_memory *m, uintptr_t tstate)
{
    const struct py_layout *l = &python.layout;

    if (!m->read)
        return py_walk_start(w, l, m, tstate);
    *w = (struct py_walk){l, m, *(const volatile uintptr_t *)(tstate + l->tstate_frame)};
    return l->cframe_frame == PY_ABSENT || !w->at ||
           py_read_word(m, w->at + l->cframe_frame, &w->at);
}

/* Of a frame: a code's address may be used again, but hardly with the same table of lines. */
static bool identity(const struct py_memory *m, const struct py_frame *f, uint64_t *hash)
{
    const struct py_layout *l = &python.layout;
    uintptr_t lines, type;

    if (m->read && (!py_read_word(m, f->code + l->type, &type) || type != l->code_type))
        return false;
    if (!py_read_word(m, f->code + l->code_lines, &lines))
        return false;
    *hash = stir(stir(stir(0, f->code), f->instruction), lines);
    return true;
}

static enum py_step look_on(struct thread *t, const struct py_memory *m, struct py_walk *w,
                            struct mixed_sight *s)
{
    enum py_step step = PY_END;
    struct py_frame f;
    uint64_t one;

    while (s->count < STEPS_MOST && (step = py_walk_next(w, &f)) == PY_FRAME) {
        if (!identity(m, &f, &one))
            return PY_BAD;
        if (!s->count) {
            t->python_code = f.code;
            t->python_at = f.instruction;
        }
        s->hash = stir(s->hash, one + f.entry);
        s->count++;
    }
    return step;
}

struct mixed_sight mixed_look(struct thread *t, const struct py_memory *m, uintptr_t tstate)
{
    struct mixed_sight s = {0};
    struct py_walk w;

    t->python_code = 0;
    s.bad = !start(&w, m, tstate) || look_on(t, m, &w, &s) == PY_BAD;
    return s;
}

/* ---- the Python frames alone ---- */

struct
    sides { /* of t->python_frames: inner ones from 0, outer ones at the end, all if none is left out */
    size_t inner, outer, left_out, entries_left_out;
};

static void turn_around(uint64_t *frames, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        uint64_t kept = frames[i];

        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = kept;
    }
}

/* Keep both ends: the first of them, and the last in a ring. */
static struct sides collect(struct thread *t, const struct py_memory *m, uintptr_t tstate)
{
    size_t room = process.depth / 4, most = process.depth - room, seen = 0;
    uint64_t *inner = t->python_frames, *outer = inner + most;
    struct sides s = {0};
    struct py_walk w;
    struct py_frame f;

    if (!start(&w, m, tstate))
        return s;
    for (unsigned int i = 0; i < STEPS_MOST && py_walk_next(&w, &f) == PY_FRAME; i++) {
        uint64_t frame, *to = s.inner < most ? &inner[s.inner] : &outer[seen % room];

        if (!codes_frame(t, m, &f, &frame))
            break;
        if (!frame)
            continue; /* the interpreter's own helper, no function of the program */
        if (s.inner < most) {
            s.inner++;
        } else {
            if (seen >= room)
                s.entries_left_out += (*to & ENTRY) != 0;
            seen++;
        }
        *to = frame | (f.entry ? ENTRY : 0);
    }
    s.outer = seen < room ? seen : room;
    s.left_out = seen - s.outer;
    if (seen > room) { /* the ring into order */
        turn_around(outer, seen % room);
        turn_around(outer + seen % room, room - seen % room);
        turn_around(outer, room);
    }
    return s;
}

/* ---- both together ---- */

struct merge {
    struct thread *thread;
    const uint64_t *native;
    const uint64_t *frames; /* Python's; all in a row */
    size_t next, end;       /* those not yet placed */
    size_t inner;           /* those from here on are beyond what was left out, */
    size_t skip;            /* with so many entries */
    size_t count;           /* of t->mixed */
    bool left_out;
};

static void put(struct merge *g, uint64_t frame)
{
    if (g->count < MIXED_MOST)
        g->thread->mixed[g->count++] = frame & ~ENTRY;
}

static void put_gap(struct merge *g)
{
    if (g->count && g->thread->mixed[g->count - 1] != RING_FRAME_ELIDED)
        put(g, RING_FRAME_ELIDED);
}

/* The frames of one call of the interpreter. Returns how many further calls are in the gap after it. */
static size_t put_call(struct merge *g)
{
    while (g->next < g->end) {
        uint64_t frame;

        if (g->left_out && g->next == g->inner) {
            put_gap(g);
            g->left_out = false;
            if (g->skip)
                return g->skip;
        }
        frame = g->frames[g->next++];
        put(g, frame);
        if (frame & ENTRY)
            break;
    }
    return 0;
}

static bool is_eval(uint64_t native)
{
    return !(native & (RING_FRAME_ELIDED | RING_FRAME_CUT)) &&
           python_is_eval(native & RING_FRAME_ADDRESS);
}

/* Native frames outward, each call of the interpreter replaced by its frames. */
static void merge_inner(struct merge *g, size_t from, size_t to)
{
    size_t skip = 0;

    for (size_t i = from; i < to; i++) {
        if (skip) {
            skip -= is_eval(g->native[i]);
            continue;
        }
        if (is_eval(g->native[i]))
            skip = put_call(g);
        else
            put(g, g->native[i]);
    }
}

/* From the outermost inward, as far as both go; they are put in reverse and then turned around. */
static void merge_outer(struct merge *g, size_t from, size_t to)
{
    size_t start = g->count, least = g->left_out ? g->inner : g->next;

    while (to-- > from) {
        if (!is_eval(g->native[to])) {
            put(g, g->native[to]);
            continue;
        }
        while (g->end > least) {
            put(g, g->frames[--g->end]);
            if (g->end > least && g->frames[g->end - 1] & ENTRY)
                break;
        }
    }
    turn_around(g->thread->mixed + start, g->count - start);
    g->next = g->end;
}

static size_t gap_in(const uint64_t *frames, size_t count)
{
    size_t i = 0;

    while (i < count && frames[i] != RING_FRAME_ELIDED)
        i++;
    return i;
}

/* Both ends of what has become too much. */
static size_t shorten(uint64_t *frames, size_t count)
{
    size_t room = process.depth / 4, inner = process.depth - room;

    if (count <= process.depth + 1)
        return count;
    frames[inner] = RING_FRAME_ELIDED;
    memmove(frames + inner + 1, frames + count - room, room * sizeof(*frames));
    return inner + 1 + room;
}

size_t mixed_merge(struct thread *t, const struct py_memory *m, uintptr_t tstate, size_t count)
{
    struct sides s = collect(t, m, tstate);
    size_t gap = gap_in(t->frames, count);
    bool cut = count && t->frames[count - 1] == RING_FRAME_CUT;
    struct merge g = {.thread = t,
                      .native = t->frames,
                      .frames = t->python_frames,
                      .end = s.inner + s.outer,
                      .inner = s.inner,
                      .skip = s.entries_left_out,
                      .left_out = s.left_out > 0};

    merge_inner(&g, 0, gap);
    if (gap < count) {
        put_gap(&g);
        if (cut)
            merge_inner(&g, gap + 1, count);
        else
            merge_outer(&g, gap + 1, count);
    }
    while (g.next < g.end) /* calls that the native walk did not reach, or did not know as such */
        put_call(&g);
    return shorten(t->mixed, g.count);
}
