/* meld - see meld.h. */
#include "inject/meld.h"

#include "inject/python.h"
#include "inject/sight.h"
#include "inject/walk.h"

struct joint {
    struct thread *thread;
    const struct py_memory *memory;
    size_t native, python; /* frames used up, from the outermost on */
    size_t start, count;   /* of the stack so far: shared, all */
};

static bool put(struct joint *j, uint64_t frame)
{
    struct meld *d = &j->thread->meld;

    if (j->count > process.depth)
        return false;
    j->thread->mixed[j->count - j->start] = frame;
    d->natives[j->count] = (uint16_t)j->native;
    d->pythons[j->count++] = (uint16_t)j->python;
    return true;
}

static bool put_python(struct joint *j)
{
    struct seen_frame *f = &j->thread->sight.frames[j->python];

    if (!f->named && !sight_name(j->thread, j->memory, f))
        return false;
    j->python++;
    return f->frame ? put(j, f->frame) : !f->entry;
}

/* What one call of the interpreter runs within its outermost frame. */
static bool put_inlined(struct joint *j)
{
    const struct sight *s = &j->thread->sight;

    while (j->python < s->count && !s->frames[j->python].entry)
        if (!put_python(j))
            return false;
    return true;
}

static bool put_call(struct joint *j)
{
    const struct sight *s = &j->thread->sight;

    return j->python < s->count && s->frames[j->python].entry && put_python(j) && put_inlined(j);
}

static bool put_native(struct joint *j, uint64_t frame)
{
    j->native++;
    return !(frame & RING_FRAME_CUT) && python_is_eval(frame & RING_FRAME_ADDRESS) ? put_call(j)
                                                                                   : put(j, frame);
}

/* Up to where the trail was made of what is still there. */
static void join_trail(struct joint *j)
{
    const struct thread *t = j->thread;
    const struct meld *d = &t->meld;
    size_t i = d->count;

    while (i && (d->natives[i - 1] > t->path.shared || d->pythons[i - 1] > t->sight.shared))
        i--;
    j->start = j->count = i;
    j->native = i ? d->natives[i - 1] : 0;
    j->python = i ? d->pythons[i - 1] : 0;
}

/* Are native frames left out in the middle? There is one place for that. */
static bool is_elided(const struct thread *t, size_t count)
{
    size_t inner = process.depth - process.depth / 4;

    return count > inner && t->frames[inner] == RING_FRAME_ELIDED;
}

bool meld_frames(struct thread *t, const struct py_memory *m, size_t count, size_t *shared,
                 size_t *more)
{
    struct joint j = {.thread = t, .memory = m};
    uint64_t last;

    if (is_elided(t, count))
        return false;
    join_trail(&j);
    walk_fill(t, count - j.native + (j.native > 0));
    last = j.native ? t->frames[count - j.native] : 0;
    if (last && !(last & RING_FRAME_CUT) && python_is_eval(last & RING_FRAME_ADDRESS) &&
        !put_inlined(&j))
        return false;
    while (j.native < count)
        if (!put_native(&j, t->frames[count - 1 - j.native]))
            return false;
    if (j.python != t->sight.count)
        return false;
    *shared = j.start;
    *more = j.count - j.start;
    return true;
}

void meld_kept(struct thread *t, bool kept)
{
    t->meld.count = kept ? t->told.count : 0;
}
