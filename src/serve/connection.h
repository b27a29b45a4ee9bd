/* connection - one who asks: its request comes in whenever it does, waits for its data if it must,
 * and its reply goes out as fast as it is taken. Nobody waits for it, and each of its steps has a
 * limit in time.
 */
#ifndef SERVE_CONNECTION_H
#define SERVE_CONNECTION_H

#include "serve/http.h"
#include "serve/reply.h"

enum connection_state {
    CONNECTION_ASKING,  /* its request is being read, */
    CONNECTION_WAITING, /* waits for data, `asked`, */
    CONNECTION_SENDING, /* is answered, */
    CONNECTION_PARTING, /* and has been: what it still sends is not looked at */
};

struct serve_asked {
    unsigned int run;        /* of several: which */
    uint64_t space;          /* whose memory, by its place in META.spaces; 0: the host's */
    uint64_t from_us, to_us; /* the stretch that is told finer; to_us 0: none */
    uint64_t newer;          /* than this version; 0: any */
};

struct connection {
    int fd;
    enum connection_state state;
    struct serve_asked asked;
    bool headless;     /* only the head is wanted */
    uint64_t since_ns; /* when it last moved */
    size_t received, sent, head_count;
    struct body *body;
    char head[REPLY_HEAD_MOST], request[HTTP_HEAD_MOST];
};

struct connection *connection_open(int fd, uint64_t now_ns);
void connection_close(struct connection *c);

/* What to wait for (poll). */
short connection_events(const struct connection *c);
/* Read what has come. HTTP_MORE, HTTP_OK with *r, or the status that refuses it; -1: it has gone.
 */
int connection_read(struct connection *c, struct http_request *r, uint64_t now_ns);
/* Takes the body. */
void connection_answer(struct connection *c, const struct reply *r, uint64_t now_ns);
/* Send what can be sent. False: it has gone, or all is done. */
bool connection_send(struct connection *c, uint64_t now_ns);
/* Look whether it is still there while it waits, or parts. */
bool connection_is_there(struct connection *c);
/* It took too long. */
bool connection_is_late(const struct connection *c, uint64_t now_ns);

#endif
