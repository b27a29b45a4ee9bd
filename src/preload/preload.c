/* preload - see preload.h. */
#include "preload/preload.h"

#include "trace/ring.h"

#include <string.h>

#define PRELOAD "LD_PRELOAD="
#define RING RING_ENV "="

static const char *value_of(const char *entry, const char *name)
{
    size_t bytes = strlen(name);

    return strncmp(entry, name, bytes) == 0 ? entry + bytes : NULL;
}

/* The last one counts for the loader. */
static const char *last_value(char *const *environment, const char *name)
{
    const char *found = NULL;

    for (; environment && *environment; environment++) {
        const char *value = value_of(*environment, name);

        found = value ? value : found;
    }
    return found;
}

const char *preload_value(char *const *environment)
{
    return last_value(environment, PRELOAD);
}

/* Where the library stands in a list; NULL: nowhere. */
static const char *place_in(const char *list, const char *library)
{
    size_t bytes = strlen(library);

    for (; list && *list; list += strcspn(list, ": ")) {
        list += strspn(list, ": ");
        if (strcspn(list, ": ") == bytes && memcmp(list, library, bytes) == 0)
            return list;
    }
    return NULL;
}

static bool has_ring(char *const *environment)
{
    const char *ring = last_value(environment, RING);

    return ring && *ring;
}

static const char *name_of(const struct preload *p)
{
    return p->instead ? p->instead : p->library;
}

/* Ours is written anew where it is to be marked; that of another recording is left alone. */
static bool keeps_ring(const struct preload *p, char *const *environment)
{
    return !p->out && has_ring(environment) &&
           (!p->marked || strcmp(last_value(environment, RING), p->ring) != 0);
}

static bool is_right(const struct preload *p, char *const *environment)
{
    bool listed = place_in(preload_value(environment), p->library) != NULL;

    if (p->out || p->instead)
        return p->out && !listed;
    return listed && keeps_ring(p, environment);
}

size_t preload_bytes(const struct preload *p, char *const *environment)
{
    const char *before = preload_value(environment);
    size_t count = 3; /* ours, and the end */

    if (is_right(p, environment))
        return 0;
    for (; environment && *environment; environment++)
        count++;
    return count * sizeof(char *) + sizeof(PRELOAD) + strlen(name_of(p)) + 1 +
           (before ? strlen(before) : 0) + sizeof(RING) + strlen(p->ring) + p->marked;
}

void preload_forget(const char *library, char **environment)
{
    for (; environment && *environment; environment++) {
        const char *value = value_of(*environment, PRELOAD), *own;

        while (value && (own = place_in(value, library))) {
            char *at = *environment + (own - *environment);
            const char *rest = at + strlen(library);

            rest += *rest != '\0';
            memmove(at, rest, strlen(rest) + 1);
        }
    }
}

static char *put(char *at, const char *text, size_t bytes)
{
    memcpy(at, text, bytes);
    return at + bytes;
}

/* The list before ours, without ours. */
static char *put_others(char *at, const char *list, const char *library)
{
    const char *own = place_in(list, library);

    if (!own)
        return put(at, list, strlen(list));
    at = put(at, list, (size_t)(own - list));
    own += strlen(library);
    return put(at, own + (*own != '\0'), strlen(own + (*own != '\0')));
}

/* Our library before the others; nothing, if there is none. Returns what follows the text. */
static char *put_list(const struct preload *p, const char *before, char *text, char ***entry)
{
    char *value = text + strlen(PRELOAD);

    **entry = text;
    text = put(text, PRELOAD, strlen(PRELOAD));
    if (!p->out)
        text = put(text, name_of(p), strlen(name_of(p)));
    if (!p->out && before && *before)
        *text++ = ':';
    if (before)
        text = put_others(text, before, p->library);
    *text++ = '\0';
    *entry += !p->out || *value; /* an empty list need not be said */
    return text;
}

char **preload_make(const struct preload *p, char *const *environment, void *room)
{
    const char *before = preload_value(environment);
    bool ring = keeps_ring(p, environment);
    bool listed = !p->out && !p->instead && has_ring(environment) && place_in(before, p->library);
    size_t count = 0;
    char **all = room, **next = all, *text;

    while (environment && environment[count])
        count++;
    text = (char *)(all + count + 3);
    for (size_t i = 0; i < count; i++)
        if ((listed || !value_of(environment[i], PRELOAD)) &&
            (ring || !value_of(environment[i], RING)))
            *next++ = environment[i];
    if (!listed)
        text = put_list(p, before, text, &next);
    if (!p->out && !ring) {
        *next++ = text;
        text = put(text, RING, strlen(RING));
        text = put(text, p->ring, strlen(p->ring));
        if (p->marked)
            *text++ = RING_COUNTED;
        *text = '\0';
    }
    *next = NULL;
    return all;
}
