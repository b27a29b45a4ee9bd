/* shelf - data that was made, for whoever asks for the same again. */
#ifndef SERVE_SHELF_H
#define SERVE_SHELF_H

#include "serve/connection.h"

#define SHELF_MOST 4

struct made {
    struct serve_asked asked; /* but for `newer` */
    uint64_t stamp;           /* what the trace was */
    uint64_t version;         /* 1, 2 ...; 0: nothing */
    bool final;               /* the recording had ended */
    struct body *body;
};

struct shelf { /* zeroed: empty */
    struct made list[SHELF_MOST];
    uint64_t version; /* the last */
};

/* Takes the body; what is oldest makes room. */
const struct made *shelf_put(struct shelf *s, const struct made *m);
/* The newest of the same stretch; NULL: none. */
const struct made *shelf_find(const struct shelf *s, const struct serve_asked *a);
void shelf_free(struct shelf *s);

bool asked_is_same(const struct serve_asked *a, const struct serve_asked *b);

#endif
