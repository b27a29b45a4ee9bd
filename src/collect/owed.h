/* owed - blocks that were ended without their free, which is still to come: see absorb.c. */
#ifndef COLLECT_OWED_H
#define COLLECT_OWED_H

#include "base/intmap.h"
#include "collect/blocks.h"

struct owed_block {
    uint64_t address;
    struct block block; /* the last that was ended there */
    uint32_t frees;     /* how many are owed */
};

struct owed { /* zeroed is empty */
    struct owed_block *list;
    size_t count, room;
    struct intmap by_address; /* index in the list */
};

void owed_add(struct owed *o, uint64_t address, const struct block *block);
/* A free has come; whether it was owed. */
bool owed_settle(struct owed *o, uint64_t address);
void owed_free(struct owed *o);

#endif
