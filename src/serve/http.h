/* http - what a browser asks for, read from bytes that anybody may have sent. Of HTTP/1.1 it is as
 * much as a page needs: one request of a method, an address and lines of a head; a body is refused.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_MOST 8192 /* bytes of a request */

struct http_text { /* a part of the request's bytes, not terminated */
    const char *at;
    size_t count;
};

enum http_method { HTTP_OTHER, HTTP_GET, HTTP_HEAD };

struct http_request {
    enum http_method method;
    struct http_text path, query; /* query: without its mark; empty: there is none */
    struct http_text host;
};

enum { HTTP_MORE = 0, HTTP_OK = 200 };

/* HTTP_OK: *r is what is asked. HTTP_MORE: more bytes are to come. Else the status that refuses it.
 */
int http_parse(const char *bytes, size_t count, struct http_request *r);

bool http_is(struct http_text t, const char *text);
/* The number that the query gives a name; false: none. */
bool http_number(struct http_text query, const char *name, uint64_t *value);
/* Does a Host name this machine, whatever the port? Another name that leads here is a trap (DNS
 * rebinding).
 */
bool http_is_local(struct http_text host);

#endif
