/* op_kept - see op_kept.h. */
#include "model/op_kept.h"

#include "base/hash.h"

#include <string.h>

const char *op_kept_text(struct op_kept *s, const char *text, size_t length)
{
    uint64_t hash = hash_bytes(HASH_START, text, length), at;

    for (; intmap_get(&s->texts, hash, &at); hash++) {
        const char *known = (const char *)(uintptr_t)at;

        if (!strncmp(known, text, length) && !known[length])
            return known;
    }
    at = (uintptr_t)arena_strndup(s->arena, text, length);
    intmap_put(&s->texts, hash, at);
    return (const char *)(uintptr_t)at;
}

struct op_class *op_kept_class(struct op_kept *s, const char *name, size_t length)
{
    const char *text = op_kept_text(s, name, length);
    struct op_class *made;
    uint64_t at;

    if (intmap_get(&s->classes, (uintptr_t)text, &at))
        return (struct op_class *)(uintptr_t)at;
    made = arena_alloc(s->arena, sizeof(*made));
    intmap_put(&s->classes, (uintptr_t)text, (uintptr_t)made);
    return made;
}

static uint64_t flags_of(const struct op_stack *o)
{
    return (uint64_t)o->native | (uint64_t)o->tensor << 1 | (uint64_t)o->workspace << 2 |
           (uint64_t)o->reserve << 3 | (uint64_t)o->data << 4 | (uint64_t)o->bucket << 5 |
           (uint64_t)o->outside << 6 | (uint64_t)o->shard << 7 | (uint64_t)o->phase << 8;
}

/* Texts are kept once each, so their place stands for them. */
static uint64_t hash_of(const struct op_stack *o)
{
    uint64_t hash = hash_mix(hash_mix(flags_of(o), (uintptr_t)o->framework), (uintptr_t)o->op);

    hash = hash_mix(hash_mix(hash, (uintptr_t)o->called), (uintptr_t)o->node);
    hash = hash_mix(hash_mix(hash, (uintptr_t)o->modules), (uintptr_t)o->maker);
    return hash_mix(hash_mix(hash_mix(hash, o->stack), o->entered), o->step_line);
}

static bool is_same(const struct op_stack *a, const struct op_stack *b)
{
    return a->framework == b->framework && a->op == b->op && a->called == b->called &&
           a->node == b->node && a->modules == b->modules && a->maker == b->maker &&
           a->frames == b->frames && a->stack == b->stack && a->entered == b->entered &&
           a->step_line == b->step_line && flags_of(a) == flags_of(b);
}

struct op_stack *op_kept_stack(struct op_kept *s, const struct op_stack *like)
{
    uint64_t hash = hash_of(like), at;

    for (; intmap_get(&s->stacks, hash, &at); hash++)
        if (is_same((const struct op_stack *)(uintptr_t)at, like))
            return (struct op_stack *)(uintptr_t)at;
    at = (uintptr_t)memcpy(arena_alloc(s->arena, sizeof(*like)), like, sizeof(*like));
    intmap_put(&s->stacks, hash, at);
    return (struct op_stack *)(uintptr_t)at;
}

void op_kept_free(struct op_kept *s)
{
    intmap_free(&s->texts);
    intmap_free(&s->classes);
    intmap_free(&s->stacks);
}
