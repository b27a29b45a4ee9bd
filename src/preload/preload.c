/* preload - see preload.h. */
#include "trace/preload.h"

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

static bool is_right(const struct preload *p, char *const *environment)
{
    bool loaded = place_in(preload_value(environment), p->library) != NULL;

    if (p->out)
        return !loaded;
    return loaded && has_ring(environment);
}

size_t preload_bytes(const struct preload *p, char *const *environment)
{
    const char *before = preload_value(environment);
    size_t count = 3; /* ours, and the end */

    if (is_right(p, environment))
        return 0;
    for (; environment && *environment; environment++)
        count++;
    return count * sizeof(char *) + sizeof(PRELOAD) + strlen(p->library) + 1 +
           (before ? strlen(before) : 0) + sizeof(RING) + strlen(p->ring);
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

char **preload_make(const struct preload *p, char *const *environment, void *room)
{
    const char *before = preload_value(environment);
    bool ring = !p->out && has_ring(environment);
    size_t count = 0, kept = 0;
    char **all = room, *text, *value;

    while (environment && environment[count])
        count++;
    text = (char *)(all + count + 3);
    for (size_t i = 0; i < count; i++)
        if (!value_of(environment[i], PRELOAD) && (ring || !value_of(environment[i], RING)))
            all[kept++] = environment[i];
    all[kept] = text;
    value = text = put(text, PRELOAD, strlen(PRELOAD));
    if (!p->out)
        text = put(text, p->library, strlen(p->library));
    if (!p->out && before && *before)
        *text++ = ':';
    if (before)
        text = put_others(text, before, p->library);
    *text++ = '\0';
    kept += !p->out || *value; /* an empty list need not be said */
    if (!p->out && !ring) {
        all[kept++] = text;
        text = put(text, RING, strlen(RING));
        put(text, p->ring, strlen(p->ring) + 1);
    }
    all[kept] = NULL;
    return all;
}
