/* connection - see connection.h. */
#include "serve/connection.h"

#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ASKING_NS (10ull * CLOCK_SECOND_NS)
#define SENDING_NS (30ull * CLOCK_SECOND_NS)
#define PARTING_NS (2ull * CLOCK_SECOND_NS)

struct connection *connection_open(int fd, uint64_t now_ns)
{
    struct connection *c = memory_zeroed(sizeof(*c));

    c->fd = fd;
    c->since_ns = now_ns;
    return c;
}

/* A child may have a copy of the descriptor: it is the connection that ends. */
void connection_close(struct connection *c)
{
    shutdown(c->fd, SHUT_RDWR);
    close(c->fd);
    body_drop(c->body);
    free(c);
}

short connection_events(const struct connection *c)
{
    return c->state == CONNECTION_SENDING ? POLLOUT : POLLIN;
}

static bool is_for_later(ssize_t result)
{
    return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

int connection_read(struct connection *c, struct http_request *r, uint64_t now_ns)
{
    size_t room = sizeof(c->request) - c->received;
    ssize_t got = recv(c->fd, c->request + c->received, room, 0);

    (void)now_ns; /* drop by drop is no progress: all of it has to come in time */
    if (is_for_later(got))
        return HTTP_MORE;
    if (got <= 0)
        return -1;
    c->received += (size_t)got;
    return http_parse(c->request, c->received, r);
}

void connection_answer(struct connection *c, const struct reply *r, uint64_t now_ns)
{
    c->head_count = reply_head(r, c->head);
    c->body = r->body;
    c->state = CONNECTION_SENDING;
    c->since_ns = now_ns;
}

/* Where the rest of the reply is: of its head, then of its body. */
static struct http_text rest_of(const struct connection *c)
{
    size_t of_body = c->sent > c->head_count ? c->sent - c->head_count : 0;

    if (c->sent < c->head_count)
        return (struct http_text){c->head + c->sent, c->head_count - c->sent};
    if (c->headless)
        return (struct http_text){NULL, 0};
    return (struct http_text){c->body->bytes + of_body, c->body->count - of_body};
}

/* All was sent. What was not read would end the connection before the other side has read the
 * reply.
 */
static void part(struct connection *c, uint64_t now_ns)
{
    shutdown(c->fd, SHUT_WR);
    c->state = CONNECTION_PARTING;
    c->since_ns = now_ns;
}

bool connection_send(struct connection *c, uint64_t now_ns)
{
    for (;;) {
        struct http_text rest = rest_of(c);
        ssize_t sent = rest.count ? send(c->fd, rest.at, rest.count, MSG_NOSIGNAL) : 0;

        if (is_for_later(sent))
            return true;
        if (sent < 0)
            return false;
        if (!rest.count) {
            part(c, now_ns);
            return true;
        }
        c->sent += (size_t)sent;
        c->since_ns = now_ns;
    }
}

bool connection_is_there(struct connection *c)
{
    ssize_t got = recv(c->fd, c->request, sizeof(c->request), 0);

    return got > 0 || is_for_later(got);
}

bool connection_is_late(const struct connection *c, uint64_t now_ns)
{
    static const uint64_t most[] = {[CONNECTION_ASKING] = ASKING_NS,
                                    [CONNECTION_WAITING] = UINT64_MAX,
                                    [CONNECTION_SENDING] = SENDING_NS,
                                    [CONNECTION_PARTING] = PARTING_NS};

    return now_ns - c->since_ns > most[c->state];
}
