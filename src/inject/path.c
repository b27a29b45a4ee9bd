/* path - see path.h. Steps are kept at the end of an array, the innermost first, so that new ones are
 * put before those that stay.
 */
#include "inject/path.h"

#include <string.h>

static struct path_step *end_of(struct path *p)
{
    return p->steps + PATH_MOST;
}

void path_begin(struct thread *t)
{
    t->path.fresh_count = 0;
    t->path.next = end_of(&t->path) - t->path.count;
}

/* Words that a step read, in the stack of the thread itself, further up than it stands. */
static inline uintptr_t word(uintptr_t at)
{
    return *(const volatile uintptr_t *)at;
}

/* The frame pointer is compared where it is needed further up: elsewhere it may hold anything. */
static inline bool is_same(const struct path_step *s, const struct path_step *end)
{
    return (!s->pc_at || word(s->pc_at) == s->to.pc) &&
           (!s->cfa_at || word(s->cfa_at) == s->to.sp) &&
           (!s->fp_at || s + 1 == end || !s[1].needs_fp || word(s->fp_at) == s->to.fp);
}

const struct path_step *path_join(struct thread *t, const struct caller *at, size_t *count)
{
    struct path *p = &t->path;
    const struct path_step *end = end_of(p), *s = p->next;

    while (s < end && s->at.sp < at->sp)
        s++;
    p->next = s;
    if (s == end || s->at.sp != at->sp || s->at.pc != at->pc || (s->needs_fp && s->at.fp != at->fp))
        return NULL;
    for (; s < end; s++)
        if (!is_same(s, end)) {
            p->next = s + 1; /* what is further up may still be as it was */
            return NULL;
        }
    *count = (size_t)(end - p->next);
    return p->next;
}

struct path_step *path_leave(struct thread *t, const struct caller *at)
{
    struct path *p = &t->path;
    struct path_step *s;

    if (p->fresh_count == PATH_MOST)
        return NULL;
    s = &p->fresh[p->fresh_count++];
    *s = (struct path_step){.at = *at};
    return s;
}

/* A step uses the frame pointer itself, or it stays as it is and one further up does. */
static void find_needs(struct path *p, size_t fresh)
{
    struct path_step *first = end_of(p) - p->count, *s = first + fresh;
    bool needs = s < end_of(p) && s->needs_fp;

    while (s-- > first) {
        needs = s->uses_fp || (needs && !s->fp_at);
        s->needs_fp = needs;
    }
}

void path_end(struct thread *t, const struct path_step *joined, bool cut)
{
    struct path *p = &t->path;
    size_t kept = joined ? (size_t)(end_of(p) - joined) : 0;

    p->cut = cut;
    p->shared = kept && !end_of(p)[-1].frame ? kept - 1 : kept;
    p->shared += kept && cut;
    p->count = kept + p->fresh_count;
    if (p->count > PATH_MOST) {
        p->count = p->shared = 0;
        return;
    }
    memcpy(end_of(p) - p->count, p->fresh, p->fresh_count * sizeof(*p->fresh));
    find_needs(p, p->fresh_count);
}

void path_forget(struct thread *t)
{
    t->path.count = t->path.shared = 0;
}

static inline bool add_word(struct path_words *w, uintptr_t at, uintptr_t value)
{
    if (w->count == w->most)
        return false;
    w->offsets[w->count] = (uint32_t)(at - w->base);
    w->values[w->count++] = value;
    return true;
}

/* A frame pointer is one of the words where a step uses it, and not where it is only handed on. */
bool path_read(const struct thread *t, struct path_words *w)
{
    const struct path_step *end = t->path.steps + PATH_MOST, *s = end - t->path.count, *from = NULL;
    bool room = t->path.count > 0;

    w->count = 0;
    w->needs_fp = room && s->needs_fp;
    for (; s < end && room; s++) {
        if (s->uses_fp && from) {
            room = add_word(w, from->fp_at, from->to.fp);
            from = NULL;
        }
        if (s->cfa_at)
            room = room && add_word(w, s->cfa_at, s->to.sp);
        if (s->pc_at)
            room = room && add_word(w, s->pc_at, s->to.pc);
        if (s->fp_at)
            from = s;
    }
    return room;
}
