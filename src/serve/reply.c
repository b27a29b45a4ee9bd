/* reply - see reply.h. */
#include "serve/reply.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct body *body_of(char *bytes, size_t count)
{
    struct body *b = memory_zeroed(sizeof(*b));

    *b = (struct body){1, count, bytes};
    return b;
}

struct body *body_of_text(const char *text)
{
    size_t count = strlen(text);

    return body_of(memcpy(memory_zeroed(count + 1), text, count), count);
}

struct body *body_share(struct body *b)
{
    b->refs++;
    return b;
}

void body_drop(struct body *b)
{
    if (!b || --b->refs)
        return;
    free(b->bytes);
    free(b);
}

static const char *phrase_of(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } all[] = {
        {200, "OK"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {414, "URI Too Long"},
        {431, "Request Header Fields Too Large"},
        {505, "HTTP Version Not Supported"},
        {0, "Internal Server Error"},
    };
    int i = 0;

    while (all[i].status && all[i].status != status)
        i++;
    return all[i].phrase;
}

struct reply reply_refusal(int status, const char *sentence)
{
    return (struct reply){
        .status = status, .type = "text/plain; charset=utf-8", .body = body_of_text(sentence)};
}

static size_t add_data(const struct reply *r, char *out, size_t room)
{
    int more = r->version ? snprintf(out, room,
                                     "Tidemark-Version: %" PRIu64 "\r\n"
                                     "Tidemark-Live: %d\r\n",
                                     r->version, r->live)
                          : 0;

    return (size_t)more;
}

size_t reply_head(const struct reply *r, char out[REPLY_HEAD_MOST])
{
    size_t count = (size_t)snprintf(out, REPLY_HEAD_MOST,
                                    "HTTP/1.1 %d %s\r\n"
                                    "Content-Type: %s\r\n"
                                    "Content-Length: %zu\r\n"
                                    "Content-Security-Policy: %s; frame-ancestors 'none'\r\n"
                                    "Cache-Control: no-store\r\n"
                                    "Referrer-Policy: no-referrer\r\n"
                                    "X-Content-Type-Options: nosniff\r\n"
                                    "X-Frame-Options: DENY\r\n"
                                    "Cross-Origin-Opener-Policy: same-origin\r\n"
                                    "Cross-Origin-Resource-Policy: same-origin\r\n"
                                    "%s"
                                    "Connection: close\r\n",
                                    r->status, phrase_of(r->status), r->type, r->body->count,
                                    r->policy ? r->policy : "default-src 'none'",
                                    r->status == 405 ? "Allow: GET, HEAD\r\n" : "");

    count += add_data(r, out + count, REPLY_HEAD_MOST - count);
    memcpy(out + count, "\r\n", 3);
    return count + 2;
}
