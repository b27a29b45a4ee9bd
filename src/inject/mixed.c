/* mixed - see mixed.h.
 *
 * A call of the interpreter's function runs the frames up to an entry frame; they stand in its
 * place. Native stacks and Python's may each have lost their middle: then the inner part is matched
 * from inside, the outer one from outside.
 */
#include "inject/mixed.h"

#include "inject/codes.h"
#include "inject/python.h"
#include "inject/sight.h"
#include "python/pyframes.h"

#include <string.h>

#define STEPS_MOST 65536u
#define ENTRY (1ull << 59) /* in t->python_frames: the outermost of its call */

/* ---- the Python frames alone ---- */

struct sides { /* of t->python_frames: inner ones from 0, outer ones at the end, all if none is left
                  out */
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

    if (!py_walk_start(&w, &python.layout, m, tstate))
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

/* The frames of one call of the interpreter. Returns how many further calls are in the gap after
 * it.
 */
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

/* Those of the last look are at hand, unless they are too many. */
static struct sides collect_either(struct thread *t, const struct py_memory *m, uintptr_t tstate,
                                   bool seen)
{
    struct sides s = {0};

    if (!seen)
        return collect(t, m, tstate);
    s.inner = sight_frames(t, m, ENTRY);
    return s;
}

size_t mixed_merge(struct thread *t, const struct py_memory *m, uintptr_t tstate, size_t count)
{
    bool seen = t->sight.count && t->sight.count <= process.depth;
    struct sides s = collect_either(t, m, tstate, seen);
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
