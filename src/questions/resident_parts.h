/* resident_parts - the parts of the resident memory of one moment, adding up to it. */
#ifndef QUESTIONS_RESIDENT_PARTS_H
#define QUESTIONS_RESIDENT_PARTS_H

#include "model/heap.h"
#include "model/residence.h"
#include "questions/table.h"
#include "trace/mappings.h"

enum { RESIDENT_ANONYMOUS, RESIDENT_FILES, RESIDENT_SHARED, RESIDENT_KINDS };
enum {
    RESIDENT_AT_HEAP,
    RESIDENT_AT_STACK,
    RESIDENT_AT_DATA,
    RESIDENT_AT_FILE,
    RESIDENT_AT_SHARED,
    RESIDENT_AT_ANON,
    RESIDENT_PLACES
};

struct resident_sample {
    bool found, looked_into; /* looked into: `places` are known, not `kinds` */
    uint64_t time_ns, rss, kinds[RESIDENT_KINDS], places[RESIDENT_PLACES], threads;
    bool known[RESIDENT_KINDS], threads_known;
};

struct resident_moment {
    const struct resident_sample *sample;
    const struct mappings *mapped;       /* then */
    const struct residence_looks *looks; /* of that moment */
};

/* The live heap was wanted at the time of the sample. */
void resident_parts(struct answer *a, struct heap *h, const struct resident_moment *m);

#endif
