/* frames_shared - stacks for tables. Thousands of them begin with the same calls: what one node of
 * their tree has is made once, so that all of them together take as much memory as the tree.
 */
#include "model/frames.h"

#include "base/emit.h"
#include "base/memory.h"
#include "model/plumbing.h"

#include <stdlib.h>

#define FRAME_BYTES 96 /* what JSON writes of a frame beside its names */

/* What each text takes, which is found out once. */
static uint64_t bytes_of(struct intmap *known, const char *text)
{
    uint64_t bytes;

    if (!text)
        return 0;
    if (!intmap_get(known, (uintptr_t)text, &bytes)) {
        bytes = emit_text_size(text);
        intmap_put(known, (uintptr_t)text, bytes);
    }
    return bytes;
}

static uint64_t cost_of(const struct frames *f, struct intmap *known, uint64_t frame)
{
    struct table_frame names[FRAMES_INLINED_MOST];
    size_t n = frames_expand(f, frame, names, FRAMES_INLINED_MOST);
    uint64_t cost = 0;

    for (size_t i = 0; i < n; i++)
        cost += FRAME_BYTES + bytes_of(known, names[i].function) + bytes_of(known, names[i].file) +
                bytes_of(known, names[i].module);
    return cost;
}

void frames_unshare(struct frames *f)
{
    for (int i = 0; i < FRAMES_SHARED; i++) {
        free(f->shared[i]);
        f->shared[i] = NULL;
    }
    free(f->costs);
    f->costs = NULL;
}

void frames_share(struct frames *f)
{
    struct intmap known = {0};

    frames_unshare(f);
    f->costs = memory_zeroed((f->frame_count + 1) * sizeof(*f->costs));
    for (int i = 0; i < FRAMES_SHARED; i++)
        f->shared[i] = memory_zeroed((f->stack_count + 1) * sizeof(*f->shared[i]));
    for (size_t i = 0; i <= f->frame_count; i++)
        f->costs[i] = (uint32_t)cost_of(f, &known, i);
    intmap_free(&known);
}

/* What of it is machinery depends on who asks: see plumbing_mark. A node is made for each of them.
 */
enum variant {
    IN_NATIVE = PLUMBING_NATIVE,
    IN_PYTHON = PLUMBING_PYTHON,
    NAMELESS = PLUMBING_NAMELESS,
    UNMARKED
};

static void mark(struct table_frame *own, size_t n, enum variant v)
{
    for (size_t i = 0; i < n && v != UNMARKED; i++)
        if (plumbing_is_machinery(&own[i], (enum plumbing_view)v))
            own[i].flags |= TABLE_FRAME_MACHINERY;
}

static bool is_all_machinery(const struct table_stack *s)
{
    for (; s; s = s->outer)
        for (int i = 0; i < s->own; i++)
            if (!(s->frames[i].flags & TABLE_FRAME_MACHINERY))
                return false;
    return true;
}

/* One node; those who called it are there already. */
static const struct table_stack *make(const struct frames *f, uint64_t stack, enum variant v)
{
    struct table_frame names[FRAMES_INLINED_MOST + 1] = {0}, *own;
    const struct frames_stack *s = &f->stacks[stack];
    uint64_t frame = s->frame <= f->frame_count ? s->frame : 0;
    size_t n = frames_expand(f, frame, names, FRAMES_INLINED_MOST);
    struct table_stack *out = arena_alloc(f->names->arena, sizeof(*out));

    if (s->cut)
        names[n++] = (struct table_frame){.flags = TABLE_FRAME_CUT};
    own = arena_alloc(f->names->arena, n * sizeof(*own));
    for (size_t i = 0; i < n; i++)
        own[i] = names[i];
    mark(own, n, v);
    *out = (struct table_stack){(int)n, (int)n, own, f->shared[v][s->parent],
                                f->costs[frame] + (s->cut ? FRAME_BYTES : 0)};
    if (out->outer) {
        out->count += out->outer->count;
        out->bytes += out->outer->bytes;
    }
    return out;
}

/* From the innermost out to what is known, and back. */
static const struct table_stack *make_path(const struct frames *f, uint64_t stack, enum variant v)
{
    const struct table_stack **shared = f->shared[v];
    struct arena scratch = {0};
    uint32_t *path, depth = 0;

    path = arena_alloc(&scratch, (f->stacks[stack].depth + 1u) * sizeof(*path));
    for (uint64_t at = stack; at && !shared[at] && depth <= f->stacks[stack].depth;
         at = f->stacks[at].parent)
        path[depth++] = (uint32_t)at;
    while (depth > 0) {
        depth--;
        shared[path[depth]] = make(f, path[depth], v);
    }
    arena_free(&scratch);
    return shared[stack];
}

const struct table_stack *frames_shared(const struct frames *f, uint64_t stack)
{
    const struct table_stack *s;

    if (!stack || stack > f->stack_count)
        return NULL;
    s = make_path(f, stack,
                  f->stacks[stack].python && !f->stacks[stack].cut ? IN_PYTHON : IN_NATIVE);
    if (is_all_machinery(s))
        s = make_path(f, stack, NAMELESS);
    return is_all_machinery(s) ? make_path(f, stack, UNMARKED) : s;
}
