/* holders - see holders.h. */
#include "model/holders.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define OWN_LINE 1u /* the stack's own line pays */
#define NO_LINE 2u  /* nobody's does */
#define LINES 3u    /* and from here on that line does */

struct owner {
    uint32_t line;    /* 0: not seen yet; or one of the above */
    uint32_t creator; /* a stack that started such a thread */
};

/* What an import starts works for whoever needs it later. */
static uint32_t line_of(const struct pool_code *code, uint32_t creator)
{
    uint32_t line = creator ? blame_creator(code->blame, creator) : UINT32_MAX;

    if (line == UINT32_MAX)
        return OWN_LINE;
    return pool_code_flags(code, creator) & POOL_IMPORTS ? NO_LINE : LINES + line;
}

static void own(const struct pool_code *code, struct owner *owner, uint32_t creator)
{
    uint32_t line = line_of(code, creator);

    if (!owner->line) {
        owner->line = line;
        owner->creator = line >= LINES ? creator : 0;
    } else if (owner->line != line) {
        *owner = (struct owner){NO_LINE, 0};
    }
}

static bool has_line(const struct blame *b, uint32_t stack)
{
    uint32_t line = blame_stack(b, stack);

    return !blame_is_foreign(b, stack) && (line >= SCOPE_KINDS || line == SCOPE_LEFT_OUT);
}

static void settle(struct holders *h, const struct blame *b, const struct owner *owner,
                   size_t stack)
{
    if (owner->line >= LINES)
        h->lines[stack] = owner->line - LINES;
    else if (owner->line == NO_LINE && blame_is_foreign(b, stack))
        h->lines[stack] = SCOPE_WORKERS;
    h->started[stack] = owner->creator;
}

void holders_find(struct holders *h, const struct pool_code *code, const struct creators *c,
                  struct arena *a)
{
    const struct blame *b = code->blame;
    size_t stacks = b->frames->stack_count;
    struct owner *owners = memory_zeroed((stacks + 1) * sizeof(*owners));

    h->lines = arena_alloc(a, (stacks + 1) * sizeof(*h->lines));
    h->started = arena_alloc(a, (stacks + 1) * sizeof(*h->started));
    memcpy(h->lines, b->of_stack, (stacks + 1) * sizeof(*h->lines));
    for (size_t i = 0; i < c->count; i++)
        if (c->pairs[i].stack <= stacks && !has_line(b, c->pairs[i].stack))
            own(code, &owners[c->pairs[i].stack], c->pairs[i].creator);
    for (size_t i = 1; i <= stacks; i++)
        settle(h, b, &owners[i], i);
    free(owners);
}
