/* shelf - see shelf.h. */
#include "serve/shelf.h"

#include "base/count.h"

bool asked_is_same(const struct serve_asked *a, const struct serve_asked *b)
{
    return a->run == b->run && a->space == b->space && a->from_us == b->from_us &&
           a->to_us == b->to_us;
}

const struct made *shelf_find(const struct shelf *s, const struct serve_asked *a)
{
    const struct made *newest = NULL;

    for (int i = 0; i < COUNT(s->list); i++)
        if (s->list[i].version && asked_is_same(&s->list[i].asked, a) &&
            (!newest || s->list[i].version > newest->version))
            newest = &s->list[i];
    return newest;
}

const struct made *shelf_put(struct shelf *s, const struct made *m)
{
    struct made *oldest = &s->list[0];

    for (int i = 1; i < COUNT(s->list); i++)
        if (s->list[i].version < oldest->version)
            oldest = &s->list[i];
    body_drop(oldest->body);
    *oldest = *m;
    oldest->version = ++s->version;
    return oldest;
}

void shelf_free(struct shelf *s)
{
    for (int i = 0; i < COUNT(s->list); i++)
        body_drop(s->list[i].body);
    *s = (struct shelf){0};
}
