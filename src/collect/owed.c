/* owed - see owed.h. */
#include "collect/owed.h"

#include "base/memory.h"

#include <stdlib.h>

static struct owed_block *find(const struct owed *o, uint64_t address)
{
    uint64_t at;

    return o->count && intmap_get(&o->by_address, address, &at) ? &o->list[at] : NULL;
}

void owed_add(struct owed *o, uint64_t address, const struct block *block)
{
    struct owed_block *known = find(o, address);

    if (!known) {
        memory_fit(o->list, o->room, o->count + 1);
        intmap_put(&o->by_address, address, o->count);
        known = &o->list[o->count++];
        *known = (struct owed_block){.address = address};
    }
    known->block = *block;
    known->frees++;
}

bool owed_settle(struct owed *o, uint64_t address)
{
    struct owed_block *known = find(o, address);

    if (!known || !known->frees)
        return false;
    known->frees--;
    return true;
}

void owed_free(struct owed *o)
{
    free(o->list);
    intmap_free(&o->by_address);
    *o = (struct owed){0};
}
