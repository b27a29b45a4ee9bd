/* fuzz_http - any bytes as a request over HTTP: no crash, no hang, nothing read outside of them.
 * Whatever is understood lies within the request, and is understood the same however the bytes come
 * in.
 */
#include "serve/http.h"
#include "serve/listen.h"

#include "replay.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int truth)
{
    if (!truth)
        abort();
}

static void demand_inside(struct http_text t, const char *bytes, size_t size)
{
    demand(!t.count || (t.at >= bytes && t.at + t.count <= bytes + size));
}

static void look(const struct http_request *r, const char *bytes, size_t size)
{
    struct place place = {.token = "0123456789abcdef0123456789abcdef"};
    struct http_text rest = {0};
    uint64_t number;

    demand_inside(r->path, bytes, size);
    demand_inside(r->query, bytes, size);
    demand_inside(r->host, bytes, size);
    demand(r->path.count && *r->path.at == '/' && r->host.count);
    demand(!memchr(r->path.at, '\0', r->path.count) && !memchr(r->path.at, '?', r->path.count));
    if (http_is_local(r->host))
        demand(memchr("1lL[", *r->host.at, 4) != NULL);
    if (http_number(r->query, "from", &number))
        demand(number < 1000000000000000000u);
    if (place_within(&place, r->path, &rest)) {
        demand(memcmp(r->path.at + 1, place.token, LISTEN_TOKEN) == 0);
        demand_inside(rest, bytes, size);
    }
}

/* The first beginning of it that is no longer unfinished decides: what follows changes nothing. */
static void read_in_parts(const char *bytes, size_t size)
{
    struct http_request r;
    size_t most = size < 512 ? size : 512;

    for (size_t count = 0; count < most; count++)
        if (http_parse(bytes, count, &r) == HTTP_OK) {
            demand(http_parse(bytes, size < HTTP_HEAD_MOST ? size : HTTP_HEAD_MOST, &r) == HTTP_OK);
            return;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = malloc(size ? size
                              : 1); /* of exactly this size, so that a read beyond it is seen */
    struct http_request r;
    int status;

    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    status = http_parse(bytes, size, &r);
    demand(status == HTTP_MORE ? size < HTTP_HEAD_MOST : status == HTTP_OK || status >= 400);
    if (status == HTTP_OK)
        look(&r, bytes, size);
    read_in_parts(bytes, size);
    free(bytes);
    return 0;
}
