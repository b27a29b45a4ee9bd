/* listen - see listen.h. */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAITING_MOST 64

static int make_token(char token[LISTEN_TOKEN + 1], struct err *err)
{
    unsigned char bytes[LISTEN_TOKEN / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return err_set(err, "no page can be served: the system gives no random bytes for its "
                            "address");
    for (size_t i = 0; i < sizeof(bytes); i++) {
        token[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        token[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    token[LISTEN_TOKEN] = '\0';
    return 0;
}

static int refused(struct place *p, unsigned int port, struct err *err)
{
    int error = errno;

    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    if (error == EADDRINUSE && port)
        return err_set(err, "port %u is in use; give another one, or leave out --port", port);
    if (error == EACCES && port)
        return err_set(err, "port %u needs a privilege; give one above 1023", port);
    return err_set(err, "no page can be served on 127.0.0.1: %s", strerror(error));
}

int place_open(struct place *p, unsigned int port, struct err *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof(at);
    int on = 1;

    *p = (struct place){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (p->fd < 0)
        return refused(p, port, err);
    setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* of one that has just ended */
    if (bind(p->fd, (struct sockaddr *)&at, size) || listen(p->fd, WAITING_MOST) ||
        getsockname(p->fd, (struct sockaddr *)&at, &size))
        return refused(p, port, err);
    p->port = ntohs(at.sin_port);
    return make_token(p->token, err);
}

bool place_within(const struct place *p, struct http_text path, struct http_text *rest)
{
    unsigned int different = 0;

    if (path.count < LISTEN_TOKEN + 1)
        return false;
    for (size_t i = 0; i < LISTEN_TOKEN; i++)
        different |= (unsigned int)(unsigned char)(path.at[i + 1] ^ p->token[i]);
    *rest = (struct http_text){path.at + LISTEN_TOKEN + 1, path.count - LISTEN_TOKEN - 1};
    return !different;
}
