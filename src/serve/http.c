/* http - see http.h. */
#include "serve/http.h"

#include <string.h>
#include <strings.h>

#define DIGITS_MOST 18

enum { BAD = 400, TOO_LONG = 414, TOO_LARGE = 431, OTHER_VERSION = 505 };

bool http_is(struct http_text t, const char *text)
{
    return t.count == strlen(text) && memcmp(t.at, text, t.count) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A character of a method's or a field's name. */
static bool is_of_name(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* What stands before a character, which is stepped over; without it nothing is taken. */
static bool take_until(struct http_text *from, char end, struct http_text *to)
{
    const char *at = from->count ? memchr(from->at, end, from->count) : NULL;

    if (!at)
        return false;
    *to = (struct http_text){from->at, (size_t)(at - from->at)};
    from->count -= to->count + 1;
    from->at = at + 1;
    return true;
}

static bool is_name(struct http_text t)
{
    for (size_t i = 0; i < t.count; i++)
        if (!is_of_name(t.at[i]))
            return false;
    return t.count > 0;
}

/* Nothing but characters that can be seen, and, where they may be, spaces. */
static bool is_visible(struct http_text t, bool spaces)
{
    for (size_t i = 0; i < t.count; i++) {
        unsigned char c = (unsigned char)t.at[i];

        if (c == ' ' || c == '\t' ? !spaces : c < ' ' || c == 127)
            return false;
    }
    return true;
}

static struct http_text trimmed(struct http_text t)
{
    while (t.count && (*t.at == ' ' || *t.at == '\t')) {
        t.at++;
        t.count--;
    }
    while (t.count && (t.at[t.count - 1] == ' ' || t.at[t.count - 1] == '\t'))
        t.count--;
    return t;
}

/* GET /path?query HTTP/1.1 */
static int parse_first(struct http_text line, struct http_request *r)
{
    struct http_text method, target;

    if (!take_until(&line, ' ', &method) || !take_until(&line, ' ', &target) || !is_name(method) ||
        !target.count || *target.at != '/' || !is_visible(target, false))
        return BAD;
    if (line.count != 8 || memcmp(line.at, "HTTP/", 5) != 0 || line.at[6] != '.' ||
        !is_digit(line.at[5]) || !is_digit(line.at[7]))
        return BAD;
    if (line.at[5] != '1')
        return OTHER_VERSION;
    r->method = http_is(method, "GET")  ? HTTP_GET
              : http_is(method, "HEAD") ? HTTP_HEAD
                                        : HTTP_OTHER;
    r->path = target;
    r->query = (struct http_text){target.at + target.count, 0};
    if (take_until(&target, '?', &r->path))
        r->query = target;
    return HTTP_OK;
}

static bool is_called(struct http_text name, const char *text)
{
    return name.count == strlen(text) && strncasecmp(name.at, text, name.count) == 0;
}

/* One line of the head. Of a length, only that of nothing is taken. */
static int parse_field(struct http_text line, struct http_request *r)
{
    struct http_text name, value;

    if (!take_until(&line, ':', &name) || !is_name(name) || !is_visible(line, true))
        return BAD;
    value = trimmed(line);
    if (is_called(name, "Transfer-Encoding") ||
        (is_called(name, "Content-Length") && !http_is(value, "0")))
        return BAD;
    if (!is_called(name, "Host"))
        return HTTP_OK;
    if (r->host.count || !value.count)
        return BAD;
    r->host = value;
    return HTTP_OK;
}

/* A line ends with CR LF, and has neither within. */
static bool take_line(struct http_text *from, struct http_text *line)
{
    if (!take_until(from, '\n', line) || !line->count || line->at[line->count - 1] != '\r')
        return false;
    line->count--;
    return true;
}

static int parse_head(struct http_text head, struct http_request *r)
{
    struct http_text line;
    int status = take_line(&head, &line) ? parse_first(line, r) : BAD;

    while (status == HTTP_OK && head.count)
        status = take_line(&head, &line) ? parse_field(line, r) : BAD;
    return status == HTTP_OK && !r->host.count ? BAD : status;
}

/* What is too long is either the address or the rest. */
static int unfinished(const char *bytes, size_t count)
{
    if (count < HTTP_HEAD_MOST)
        return HTTP_MORE;
    return memchr(bytes, '\n', count) ? TOO_LARGE : TOO_LONG;
}

int http_parse(const char *bytes, size_t count, struct http_request *r)
{
    const char *end = count ? memmem(bytes, count, "\r\n\r\n", 4) : NULL;

    *r = (struct http_request){0};
    if (!end)
        return unfinished(bytes, count);
    if ((size_t)(end - bytes) + 4 > HTTP_HEAD_MOST)
        return TOO_LARGE;
    return parse_head((struct http_text){bytes, (size_t)(end - bytes) + 2}, r);
}

/* ---- what it says ---- */

static bool parse_number(struct http_text t, uint64_t *value)
{
    uint64_t sum = 0;

    if (!t.count || t.count > DIGITS_MOST)
        return false;
    for (size_t i = 0; i < t.count; i++) {
        if (!is_digit(t.at[i]))
            return false;
        sum = sum * 10 + (uint64_t)(t.at[i] - '0');
    }
    *value = sum;
    return true;
}

bool http_number(struct http_text query, const char *name, uint64_t *value)
{
    struct http_text pair, key;

    while (query.count) {
        if (!take_until(&query, '&', &pair)) {
            pair = query;
            query.count = 0;
        }
        if (take_until(&pair, '=', &key) && http_is(key, name))
            return parse_number(pair, value);
    }
    return false;
}

bool http_is_local(struct http_text host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]", NULL};

    for (int i = 0; names[i]; i++) {
        size_t length = strlen(names[i]);
        uint64_t number;

        if (host.count < length || strncasecmp(host.at, names[i], length) != 0)
            continue;
        if (host.count == length ||
            (host.at[length] == ':' &&
             parse_number((struct http_text){host.at + length + 1, host.count - length - 1},
                          &number)))
            return true;
    }
    return false;
}
