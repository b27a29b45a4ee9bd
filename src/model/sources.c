/* sources - see sources.h. Lines and bytes come from a file, and have limits. */
#include "model/sources.h"

#include "base/hash.h"
#include "base/memory.h"
#include "model/allowed.h"

#include <string.h>

#define FILES_MOST 65536
#define LINES_MOST ((uint64_t)1 << 22)

struct sources_file {
    const char *path;
    const char **text;
    uint64_t lines, room;
};

static struct sources_file *file_of(struct sources *s, const struct names *names, uint64_t number)
{
    const char *path = names_get(names, number);
    uint64_t place;

    if (intmap_get(&s->places, (uintptr_t)path, &place))
        return &s->files[place];
    if (!path || s->count == FILES_MOST)
        return NULL;
    arena_fit(s->arena, s->files, s->room, s->count + 1);
    intmap_put(&s->places, (uintptr_t)path, s->count);
    s->files[s->count].path = path;
    return &s->files[s->count++];
}

void sources_take(struct sources *s, const struct names *names, const struct trace_event *ev)
{
    uint64_t line = ev->source.line;
    struct sources_file *f;

    if (ev->kind != TRACE_SOURCE || !line || line > LINES_MOST ||
        s->bytes + ev->tail_bytes > ALLOWED_TEXT(names->file_bytes))
        return;
    f = file_of(s, names, ev->source.file);
    if (!f)
        return;
    if (line > f->room) {
        uint64_t room = line * 2 < 64 ? 64 : line * 2;
        size_t each = sizeof(*f->text);

        s->bytes += (size_t)(room - f->room) * each;
        f->text = arena_grow(s->arena, f->text, (size_t)f->room * each, (size_t)room * each);
        f->room = room;
    }
    s->bytes += ev->tail_bytes + 16;
    f->text[line - 1] = arena_strndup(s->arena, (const char *)ev->tail, ev->tail_bytes);
    f->lines = line > f->lines ? line : f->lines;
}

/* The paths that are one line each of this text, as a set of their hashes. */
static struct intmap lines_of(const char *text)
{
    struct intmap set = {0};

    for (size_t n; text; text = text[n] ? text + n + 1 : NULL) {
        n = strcspn(text, "\n");
        intmap_put(&set, hash_bytes(HASH_START, text, n), 1);
    }
    return set;
}

static int by_path(const void *left, const void *right)
{
    const struct table_source *l = left, *r = right;

    return (uintptr_t)l->file < (uintptr_t)r->file ? -1 : (uintptr_t)l->file > (uintptr_t)r->file;
}

const struct table_source *sources_end(const struct sources *s, const char *changed)
{
    struct table_source *all = arena_alloc(s->arena, (s->count + 1) * sizeof(*all));
    struct intmap set = lines_of(changed);
    uint64_t known;

    for (size_t i = 0; i < s->count; i++) {
        const char *path = s->files[i].path;

        all[i] = (struct table_source){
            path, s->files[i].lines, s->files[i].text,
            changed && intmap_get(&set, hash_bytes(HASH_START, path, strlen(path)), &known)};
    }
    intmap_free(&set);
    memory_sort(all, s->count, sizeof(*all), by_path);
    return all;
}

void sources_free(struct sources *s)
{
    intmap_free(&s->places);
    *s = (struct sources){.arena = s->arena};
}
