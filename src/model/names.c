/* names - texts are copied once, since the decoder's own buffer does not last. */
#include "analyze/names.h"

#include "base/text.h"

#include <string.h>

#define FACTS_MOST 256u
#define TEXT_MOST ((size_t)256 << 20)
#define TEXT_EACH 64 /* what a text costs beside its bytes */

struct names_fact {
    uint64_t subject, id;
    const char *key, *text;
};

const char *names_keep(struct names *n, const void *bytes, size_t len)
{
    char *text;

    if (n->used + len + TEXT_EACH > TEXT_MOST)
        return NULL;
    n->used += len + TEXT_EACH;
    text = arena_strndup(n->arena, bytes, len);
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return text;
}

void names_string(struct names *n, const struct trace_event *ev)
{
    const char *text = names_keep(n, ev->tail, ev->tail_bytes);

    if (text)
        intmap_put(&n->strings, ev->string.string, (uint64_t)(uintptr_t)text);
}

const char *names_get(const struct names *n, uint64_t string)
{
    uint64_t text;

    return string && intmap_get(&n->strings, string, &text) ? (const char *)(uintptr_t)text : NULL;
}

void names_seal(struct names *n)
{
    intmap_free(&n->strings);
}

void names_fact(struct names *n, const struct trace_event *ev)
{
    const char *key = names_get(n, ev->fact.key), *text;

    if (!key || n->fact_count == FACTS_MOST)
        return;
    text = names_keep(n, ev->tail, ev->tail_bytes);
    if (!text)
        return;
    if (!n->facts)
        n->facts = arena_alloc(n->arena, FACTS_MOST * sizeof(*n->facts));
    n->facts[n->fact_count++] = (struct names_fact){ev->fact.subject, ev->fact.id, key, text};
}

const char *names_find(const struct names *n, enum trace_subject subject, const char *key)
{
    for (size_t i = n->fact_count; i-- > 0;) { /* the last word counts */
        const struct names_fact *f = &n->facts[i];

        if (f->subject == subject && f->id == 0 && strcmp(f->key, key) == 0)
            return f->text;
    }
    return NULL;
}

bool names_number(const struct names *n, enum trace_subject subject, const char *key,
                  uint64_t *number)
{
    const char *text = names_find(n, subject, key);

    return text && text_parse_number(text, number);
}
