/* path - see path.h. Steps are kept at the end of an array, the innermost first, so that new ones
 * are put before those that stay.
 */
#include "inject/path.h"

#include <string.h>

static struct path_step *end_of(struct path *p)
{
    return p->steps + PATH_MOST + 1;
}

void path_begin(struct thread *t, const struct caller *at)
{
    t->path.fresh_count = 0;
    t->path.began = *at;
    t->path.next = end_of(&t->path) - t->path.count;
}

/* Words that a step read, in the stack of the thread itself, further up than it stands. */
static inline uintptr_t word(uintptr_t high, uint32_t below)
{
    return *(const volatile uintptr_t *)(high - below);
}

/* The frame pointer is compared where it is needed further up: elsewhere it may hold anything. */
static inline bool compares_fp(const struct path_step *s, const struct path_step *end)
{
    return s->fp_at && s + 1 < end && s[1].needs_fp;
}

static inline bool is_same(const struct path_step *s, const struct path_step *end, uintptr_t high)
{
    if (likely(s->plain))
        return word(high, s->pc_at) == s->to.pc;
    return (!s->pc_at || word(high, s->pc_at) == s->to.pc) &&
           (!s->cfa_at || word(high, s->cfa_at) == s->to.sp) &&
           (!compares_fp(s, end) || word(high, s->fp_at) == s->to.fp);
}

const struct path_step *path_join(struct thread *t, const struct caller *at, size_t *count)
{
    struct path *p = &t->path;
    const struct path_step *end = end_of(p), *s = p->next;

    while (s < end && s[-1].to.sp < at->sp)
        s++;
    p->next = s;
    if (s == end || s[-1].to.sp != at->sp || s[-1].to.pc != at->pc ||
        (s->needs_fp && s[-1].to.fp != at->fp))
        return NULL;
    for (; s < end; s++)
        if (!is_same(s, end, t->stack_high)) {
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

    if (p->fresh_count == PATH_MOST || t->stack_high - at->sp > UINT32_MAX)
        return NULL;
    s = &p->fresh[p->fresh_count++];
    *s = (struct path_step){.pc_at = 0};
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
        s->plain = s->pc_at && !s->cfa_at && !compares_fp(s, end_of(p));
    }
}

void path_end(struct thread *t, const struct path_step *joined, bool cut)
{
    struct path *p = &t->path;
    size_t kept = joined ? (size_t)(end_of(p) - joined) : 0;

    p->cut = cut;
    p->shared = kept && !end_of(p)[-1].leads ? kept - 1 : kept;
    p->shared += kept && cut;
    p->count = kept + p->fresh_count;
    if (p->count > PATH_MOST) {
        p->count = p->shared = 0;
        return;
    }
    memcpy(end_of(p) - p->count, p->fresh, p->fresh_count * sizeof(*p->fresh));
    end_of(p)[-1 - (ptrdiff_t)p->count].to = p->began;
    find_needs(p, p->fresh_count);
}

void path_forget(struct thread *t)
{
    t->path.count = t->path.shared = 0;
}

/* A frame pointer is one of the words where a step uses it, and not where it is only handed on. */
bool path_read(const struct thread *t, struct path_words *w)
{
    const struct path_step *end = t->path.steps + PATH_MOST + 1, *s = end - t->path.count;
    const struct path_step *from = NULL;
    uintptr_t high = t->stack_high;
    bool room = t->path.count > 0;

    w->needs_fp = room && s->needs_fp;
    for (; s < end && room; s++) {
        if (s->uses_fp && from) {
            room = path_add(w, high - from->fp_at, from->to.fp);
            from = NULL;
        }
        if (s->cfa_at)
            room = room && path_add(w, high - s->cfa_at, s->to.sp);
        if (s->pc_at)
            room = room && path_add(w, high - s->pc_at, s->to.pc);
        if (s->fp_at)
            from = s;
    }
    return room;
}
