/* align - see align.h. A path through the table of both is found from its two ends at once; where
 * they meet it is cut in two, and each half is found in the same way. What only one of them has is
 * left out before: it takes no time, and is no difference to look for.
 */
#include "model/align.h"

#include "base/intmap.h"
#include "base/memory.h"

#include <stdlib.h>

struct part { /* of both sequences: from, and before what */
    size_t a, a_end, b, b_end;
};

struct aligning {
    const uint64_t *a, *b;
    size_t *partner;
    int64_t *forward, *backward; /* by diagonal, -most .. most + 1: how far a path has come in a */
    int64_t most;
    bool whole;
};

struct meeting { /* a run of equal ones, from its begin to before its end */
    size_t a, a_end, b, b_end;
};

static bool same(const struct aligning *g, const struct part *p, int64_t x, int64_t y, bool back)
{
    return back ? g->a[p->a_end - 1 - (size_t)x] == g->b[p->b_end - 1 - (size_t)y]
                : g->a[p->a + (size_t)x] == g->b[p->b + (size_t)y];
}

/* One more difference on one diagonal: where the path begins its run, and where it ends it. */
static int64_t walk(const struct aligning *g, const struct part *p, int64_t *v, int64_t k,
                    int64_t d, bool back, int64_t *from)
{
    int64_t n = (int64_t)(p->a_end - p->a), m = (int64_t)(p->b_end - p->b);
    int64_t x = k == -d || (k != d && v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1;

    *from = x;
    while (x < n && x - k < m && same(g, p, x, x - k, back))
        x++;
    return v[k] = x;
}

static void note(struct meeting *out, const struct part *p, int64_t from, int64_t to, int64_t k,
                 bool back)
{
    if (back)
        *out = (struct meeting){p->a_end - (size_t)to, p->a_end - (size_t)from,
                                p->b_end - (size_t)(to - k), p->b_end - (size_t)(from - k)};
    else
        *out = (struct meeting){p->a + (size_t)from, p->a + (size_t)to, p->b + (size_t)(from - k),
                                p->b + (size_t)(to - k)};
}

/* All diagonals with d differences from one end; true: it has met the other. */
static bool advance(const struct aligning *g, const struct part *p, int64_t d, bool back,
                    struct meeting *out)
{
    int64_t n = (int64_t)(p->a_end - p->a), m = (int64_t)(p->b_end - p->b), delta = n - m;
    int64_t *own = back ? g->backward : g->forward, *other = back ? g->forward : g->backward;
    int64_t reach = back ? d : d - 1; /* how far the other end has come */
    bool meets = (delta % 2 == 0) == back;

    for (int64_t k = -(d - 2 * (d > m ? d - m : 0)); k <= d - 2 * (d > n ? d - n : 0); k += 2) {
        int64_t from, to = walk(g, p, own, k, d, back, &from);

        if (!meets || delta - k < -reach || delta - k > reach || to + other[delta - k] < n)
            continue;
        note(out, p, from, to, k, back);
        return true;
    }
    return false;
}

static bool find_meeting(const struct aligning *g, const struct part *p, struct meeting *out)
{
    g->forward[1] = g->backward[1] = 0;
    for (int64_t d = 0; d <= g->most; d++)
        if (advance(g, p, d, false, out) || advance(g, p, d, true, out))
            return true;
    return false;
}

static void match_ends(const struct aligning *g, struct part *p)
{
    while (p->a < p->a_end && p->b < p->b_end && g->a[p->a] == g->b[p->b])
        g->partner[p->a++] = p->b++;
    while (p->a < p->a_end && p->b < p->b_end && g->a[p->a_end - 1] == g->b[p->b_end - 1])
        g->partner[--p->a_end] = --p->b_end;
}

static void solve(struct aligning *g, struct part p)
{
    while (match_ends(g, &p), p.a < p.a_end && p.b < p.b_end) {
        struct meeting m;

        if (!find_meeting(g, &p, &m)) {
            g->whole = false;
            return;
        }
        for (size_t i = m.a; i < m.a_end; i++)
            g->partner[i] = m.b + (i - m.a);
        solve(g, (struct part){p.a, m.a, p.b, m.b});
        p.a = m.a_end;
        p.b = m.b_end;
    }
}

/* ---- what can be matched at all ---- */

struct kept { /* of a sequence: what the other one has as well */
    uint64_t *keys;
    size_t *places, count;
};

static struct kept keep(const uint64_t *list, size_t count, const uint64_t *other,
                        size_t other_count)
{
    struct kept k = {.keys = memory_resize(NULL, (count + 1) * sizeof(*k.keys)),
                     .places = memory_resize(NULL, (count + 1) * sizeof(*k.places))};
    struct intmap there = {0};
    uint64_t value;

    for (size_t i = 0; i < other_count; i++)
        intmap_put(&there, other[i], 1);
    for (size_t i = 0; i < count; i++)
        if (intmap_get(&there, list[i], &value)) {
            k.keys[k.count] = list[i];
            k.places[k.count++] = i;
        }
    intmap_free(&there);
    return k;
}

static void kept_free(struct kept *k)
{
    free(k->keys);
    free(k->places);
}

static bool align_kept(const struct kept *a, const struct kept *b, size_t *partner)
{
    size_t half = (a->count + b->count + 1) / 2;
    struct aligning g = {a->keys, b->keys, partner, NULL, NULL, (int64_t)half, true};
    int64_t *room;

    if (g.most > ALIGN_DIFFERENCES_MOST / 2)
        g.most = ALIGN_DIFFERENCES_MOST / 2;
    room = memory_zeroed((size_t)(4 * g.most + 8) * sizeof(*room));
    g.forward = room + g.most + 1;
    g.backward = g.forward + 2 * g.most + 3;
    for (size_t i = 0; i < a->count; i++)
        partner[i] = ALIGN_NONE;
    solve(&g, (struct part){0, a->count, 0, b->count});
    free(room);
    return g.whole;
}

bool align(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count, size_t *partner)
{
    struct kept x = keep(a, a_count, b, b_count), y = keep(b, b_count, a, a_count);
    size_t *of_kept = memory_resize(NULL, (x.count + 1) * sizeof(*of_kept));
    bool whole = align_kept(&x, &y, of_kept);

    for (size_t i = 0; i < a_count; i++)
        partner[i] = ALIGN_NONE;
    for (size_t i = 0; i < x.count; i++)
        if (of_kept[i] != ALIGN_NONE)
            partner[x.places[i]] = y.places[of_kept[i]];
    free(of_kept);
    kept_free(&x);
    kept_free(&y);
    return whole;
}
