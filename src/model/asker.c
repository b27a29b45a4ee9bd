/* asker - see asker.h. */
#include "model/asker.h"

#include "model/plumbing.h"

static bool is_allocator(struct asker *a, uint32_t function)
{
    const char *name = a->blame->functions[function].name;
    uint64_t known;

    if (!intmap_get(&a->allocators, function, &known)) {
        known = name && !a->blame->functions[function].python && plumbing_is_allocator(name);
        intmap_put(&a->allocators, function, known);
    }
    return known;
}

bool asker_find(struct asker *a, uint64_t stack, struct blame_name *out)
{
    const struct blame *b = a->blame;
    uint32_t function = blame_function(b, stack);

    if (function == UINT32_MAX || !is_allocator(a, function))
        return false;
    for (uint64_t s = stack; s; s = b->frames->stacks[s].parent) {
        const struct blame_name *names;
        size_t n = blame_names(b, b->frames->stacks[s].frame, &names);

        for (size_t i = 0; i < n; i++) {
            if (is_allocator(a, names[i].function))
                continue;
            *out = names[i];
            return true;
        }
    }
    return false;
}

void asker_free(struct asker *a)
{
    intmap_free(&a->allocators);
}
