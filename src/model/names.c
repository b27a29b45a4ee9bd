/* names - texts are copied once, since the decoder's own buffer does not last. */
#include "model/names.h"

#include "base/hash.h"
#include "base/text.h"
#include "model/allowed.h"

#include <string.h>

#define FACTS_MOST 256u
#define STRING_MOST ((size_t)64 << 10) /* of one that may be shown many times */
#define TEXT_EACH 64                   /* what a text costs beside its bytes */

struct names_fact {
    uint64_t subject, id;
    const char *key, *text;
};

const char *names_keep(struct names *n, const void *bytes, size_t len)
{
    char *text;

    if (n->used + len + TEXT_EACH > ALLOWED_TEXT(n->file_bytes))
        return NULL;
    n->used += len + TEXT_EACH;
    text = arena_strndup(n->arena, bytes, len);
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return text;
}

/* Does it read as these bytes would? */
static bool reads_as(const char *text, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != (bytes[i] ? bytes[i] : ' '))
            return false;
    return !text[len];
}

/* Of two texts with one hash, the second is kept each time: nobody shall make this a search. */
const char *names_once(struct names *n, const void *bytes, size_t len)
{
    uint64_t hash = hash_bytes(HASH_START, bytes, len), known;
    const char *text;

    if (intmap_get(&n->known, hash, &known) && reads_as((const char *)(uintptr_t)known, bytes, len))
        return (const char *)(uintptr_t)known;
    text = names_keep(n, bytes, len);
    if (text)
        intmap_put(&n->known, hash, (uint64_t)(uintptr_t)text);
    return text;
}

void names_string(struct names *n, const struct trace_event *ev)
{
    size_t len = ev->tail_bytes < STRING_MOST ? ev->tail_bytes : STRING_MOST;
    const char *text = names_once(n, ev->tail, len);

    if (text)
        intmap_put(&n->strings, ev->string.string, (uint64_t)(uintptr_t)text);
}

const char *names_get(const struct names *n, uint64_t string)
{
    const struct intmap *strings = n->texts ? &n->texts->strings : &n->strings;
    uint64_t text;

    return string && intmap_get(strings, string, &text) ? (const char *)(uintptr_t)text : NULL;
}

void names_free(struct names *n)
{
    intmap_free(&n->strings);
    intmap_free(&n->known);
    *n = (struct names){.arena = n->arena, .file_bytes = n->file_bytes};
}

void names_fact(struct names *n, const struct trace_event *ev)
{
    const char *key = names_get(n, ev->fact.key), *text;

    if (!key || n->fact_count == FACTS_MOST || ev->fact.subject == TRACE_OF_MODULE)
        return; /* those of modules are kept by frames */
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
