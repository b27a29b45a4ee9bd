/* brief - see brief.h. A name is whatever a demangler wrote: nothing here relies on its brackets to
 * match. */
#include "report/brief.h"

#include "base/text.h"

#include <string.h>

struct shortened {
    char *out;
    size_t used;
    const char *dots;
};

static void put(struct shortened *s, const char *text, size_t bytes)
{
    if (bytes > BRIEF_ROOM - 1 - s->used)
        return;
    memcpy(s->out + s->used, text, bytes);
    s->used += bytes;
}

/* The bracket that closes the one at `at`; NULL: none does. The arrow of "a->b" closes nothing. */
static const char *closing(const char *at)
{
    int depth = 0;

    for (; *at; at++) {
        depth += *at == '<' || *at == '(' || *at == '{' || *at == '[';
        if ((*at == '>' && at[-1] != '-') || *at == ')' || *at == '}' || *at == ']')
            depth--;
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* "operator<", "operator<<" and "operator()" have brackets of their own, and "<locals>" of Python
 * is one. */
static bool is_part(const char *name, const char *at)
{
    const char *from = at;

    while (*at == '<' && from > name && from[-1] == '<')
        from--;
    return from == name || (*at == '<' && from[-1] == '.') ||
           (from - name >= 8 && memcmp(from - 8, "operator", 8) == 0);
}

/* " (/folder/file.c:12)": where it is, and "(anonymous namespace)". */
static bool is_kept(const char *name, const char *at)
{
    return (at > name && at[-1] == ' ') || strncmp(at, "(anonymous", 10) == 0;
}

static const char *base_within(const char *from, const char *to)
{
    const char *base = from;

    for (const char *at = from; at < to; at++)
        base = *at == '/' ? at + 1 : base;
    return base;
}

static const char *put_bracket(struct shortened *s, const char *name, const char *at,
                               const char *end)
{
    const char *from = at + 1;

    put(s, at, 1);
    if (is_kept(name, at)) {
        from = base_within(from, end);
        put(s, from, (size_t)(end - from));
    } else if (from < end) {
        put(s, s->dots, strlen(s->dots));
    }
    put(s, end, 1);
    return end + 1;
}

/* What a function returns stands before its name, if its template says so. */
static void drop_type(struct shortened *s)
{
    char *open = memchr(s->out, '(', s->used), *space = NULL;

    s->out[s->used] = '\0';
    if (!open || strstr(s->out, "operator") || (open > s->out && open[-1] == ' '))
        return;
    for (char *at = s->out; at < open; at++)
        space = *at == ' ' ? at : space;
    if (space)
        memmove(s->out, space + 1, strlen(space + 1) + 1);
}

const char *brief_name(char out[BRIEF_ROOM], const char *name, bool utf8)
{
    struct shortened s = {.out = out, .dots = utf8 ? "…" : "..."};
    const char *at = name;

    while (*at) {
        bool opens = (*at == '<' || *at == '(') && !is_part(name, at);
        const char *end = opens ? closing(at) : NULL;

        if (end) {
            at = put_bracket(&s, name, at, end);
        } else {
            put(&s, at, 1);
            at++;
        }
    }
    drop_type(&s);
    return out;
}

void brief_put(FILE *out, const char *name, int room, const struct terminal *terminal)
{
    char brief[BRIEF_ROOM] = "";

    if ((int)text_width(name) > room)
        name = brief_name(brief, name, terminal->utf8);
    terminal_put_within(out, name, room, terminal);
}

const char *brief_path(const char *path)
{
    const char *last = path;
    int parts = 0;

    if (*path != '/')
        return path;
    for (const char *at = path + strlen(path); at > path && parts < 2; at--)
        if (at[-1] == '/' && *at) {
            last = at;
            parts++;
        }
    return last;
}
