/* helper - tidemark-resolve: a namer in a process of its own, for the resolver of the tool.
 *
 * It keeps elfutils, which is large, out of the tool, which must be small, and what a damaged file
 * does to it out of the tool as well. It gives up all that it does not need (base/jail.h), since
 * the files are somebody else's. `tidemark-resolve [--rights RIGHTS] [--debuginfod] [DIRECTORY...]`
 * answers what comes through the socket that is its standard input, until that ends.
 */
#include "base/jail.h"
#include "namer/debuginfod.h"
#include "namer/indexer.h"
#include "namer/namer.h"
#include "resolve/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static char question[WIRE_MOST], answer[WIRE_MOST];
static size_t used; /* of the answer */

static void put(const void *bytes, size_t size)
{
    if (size)
        memcpy(answer + used, bytes, size);
    used += size;
}

/* Appends one name to the answer; false when it is full. */
static bool put_name(const struct resolved_name *n)
{
    struct wire_name name = {.line = n->line};

    name.function_bytes = n->function ? (uint32_t)strlen(n->function) : 0;
    name.file_bytes = n->file ? (uint32_t)strlen(n->file) : 0;
    if (sizeof(name) + name.function_bytes + name.file_bytes > WIRE_MOST - used)
        return false;
    put(&name, sizeof(name));
    put(n->function, name.function_bytes);
    put(n->file, name.file_bytes);
    return true;
}

/* Appends the names of one address. When they do not all fit, those that do are kept in an answer
 * that has nothing else, and none are otherwise: false.
 */
static bool put_names(const struct resolved_name *names, int count)
{
    size_t before = used;
    uint32_t done = 0;

    if (WIRE_MOST - used < sizeof(done))
        return false;
    put(&done, sizeof(done));
    while ((int)done < count && put_name(&names[done]))
        done++;
    if ((int)done < count && before > 0) {
        used = before;
        return false;
    }
    memcpy(answer + before, &done, sizeof(done));
    return true;
}

struct asked {
    struct wire_question head;
    uint64_t addresses[WIRE_ADDRESSES_MOST];
    char path[WIRE_MOST], id[256];
};

/* False when the message is no question. */
static bool understand(struct asked *a, size_t size)
{
    struct wire_question *q = &a->head;
    const char *at = question + sizeof(*q);

    if (size < sizeof(*q))
        return false;
    memcpy(q, question, sizeof(*q));
    if (q->addresses > WIRE_ADDRESSES_MOST || q->path_bytes >= sizeof(a->path) ||
        q->id_bytes >= sizeof(a->id) || q->most > WIRE_NAMES_MOST ||
        sizeof(*q) + q->addresses * sizeof(uint64_t) + q->path_bytes + q->id_bytes != size)
        return false;
    memcpy(a->addresses, at, q->addresses * sizeof(uint64_t));
    at += q->addresses * sizeof(uint64_t);
    memcpy(a->path, at, q->path_bytes);
    a->path[q->path_bytes] = 0;
    memcpy(a->id, at + q->path_bytes, q->id_bytes);
    a->id[q->id_bytes] = 0;
    return true;
}

static void answer_names(struct namer *n, const struct asked *asked)
{
    static struct resolved_name names[WIRE_NAMES_MOST];

    if (asked->head.addresses == 0) {
        names[0] = (struct resolved_name){.function = namer_problem(n, asked->path)};
        put_names(names, names[0].function != NULL);
    }
    for (uint32_t i = 0; i < asked->head.addresses; i++) {
        int count = namer_address(n, asked->path, asked->id, asked->addresses[i], names,
                                  (int)asked->head.most);

        if (!put_names(names, count))
            return;
    }
}

static bool send_all(const unsigned char *bytes, size_t size)
{
    for (size_t at = 0, part; at < size; at += part) {
        part = size - at < WIRE_MOST ? size - at : WIRE_MOST;
        if (send(0, bytes + at, part, MSG_NOSIGNAL) != (ssize_t)part)
            return false;
    }
    return true;
}

/* Its length and all but the last part, which is the answer that is left to be sent. */
static void answer_index(struct namer *n, const struct asked *asked)
{
    struct indexed made = {0};
    bool kept = namer_index(n, asked->path, asked->id, asked->head.most, asked->head.maker, &made);
    uint64_t size = kept ? made.size : 0;
    size_t last = size ? (size - 1) % WIRE_MOST + 1 : sizeof(size);

    if (!kept)
        put(&size, sizeof(size));
    else if (send(0, &size, sizeof(size), MSG_NOSIGNAL) > 0 && send_all(made.bytes, size - last))
        put(made.bytes + size - last, last);
    if (kept)
        free(made.bytes);
}

static void answer_to(struct namer *n, size_t size)
{
    static struct asked asked;

    used = 0;
    if (!understand(&asked, size))
        return;
    if (asked.head.kind == WIRE_INDEX) {
        answer_index(n, &asked);
    } else if (asked.head.kind == WIRE_WANT) {
        namer_want(n, asked.path, asked.id, asked.addresses, asked.head.addresses);
        put_names(NULL, 0);
    } else {
        answer_names(n, &asked);
    }
}

static void serve(struct namer *n)
{
    ssize_t size;

    while ((size = recv(0, question, sizeof(question), 0)) != 0) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return;
        answer_to(n, (size_t)size);
        if (used == 0 || send(0, answer, used, MSG_NOSIGNAL) < 0)
            return;
    }
}

/* Give up what the recorded programs do not have, before anything that they name is opened. */
static int give_up(const char *text)
{
    struct rights rights;

    if (!rights_parse(&rights, text))
        return -1;
    rights.root = fcntl(WIRE_ROOT, F_GETFD) < 0 ? 0 : WIRE_ROOT;
    if (rights_take(&rights) < 0)
        return -1;
    rights_free(&rights);
    return 0;
}

int main(int argc, char **argv)
{
    bool ask, less = argc > 2 && strcmp(argv[1], WIRE_RIGHTS) == 0;
    int first = less ? 3 : 1;
    struct resolver_options o = {0};
    struct err err;
    struct namer *n;

    if (less && give_up(argv[2]) < 0)
        return 1;
    ask = argc > first && strcmp(argv[first], "--debuginfod") == 0;
    first += ask;
    o.debug_directories = (const char *const *)(argv + first);
    o.debug_directory_count = argc > first ? (size_t)(argc - first) : 0;
    o.ask_debuginfod = ask;
    if (ask)
        debuginfod_begin();
    jail_reader();
    n = namer_create(&o, &err);
    if (!n || send(0, WIRE_READY, strlen(WIRE_READY), MSG_NOSIGNAL) < 0)
        return 1;
    serve(n);
    namer_free(n);
    return 0;
}
