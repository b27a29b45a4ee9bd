/* listen - a place on this machine alone where a page can be asked for, and the secret in its
 * address.
 */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "base/err.h"
#include "serve/http.h"

#define LISTEN_TOKEN 32

struct place {
    int fd;
    unsigned int port;
    char token[LISTEN_TOKEN + 1];
};

/* On 127.0.0.1, at a port or (0) at one that is free. 0, or -1 with *err. */
int place_open(struct place *p, unsigned int port, struct err *err);
/* What of the path stands behind the token; false: it does not begin with it. The time that takes
 * tells nothing of the token.
 */
bool place_within(const struct place *p, struct http_text path, struct http_text *rest);

#endif
