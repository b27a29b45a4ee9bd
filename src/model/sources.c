/* sources - see sources.h. Lines and bytes come from a file, and have limits. */
#include "analyze/sources.h"

#include <string.h>

#define FILES_MOST 65536
#define LINES_MOST ((uint64_t)1 << 22)
#define BYTES_MOST ((size_t)256 << 20)

struct sources_file {
    const char *path;
    const char **text;
    uint64_t lines, room;
};

static struct sources_file *file_of(struct sources *s, const struct names *names, uint64_t number)
{
    const char *path = names_get(names, number);
    uint64_t place;

    if (intmap_get(&s->places, number, &place))
        return &s->files[place];
    if (!path || s->count == FILES_MOST)
        return NULL;
    if (s->count == s->room) {
        size_t room = s->room ? s->room * 2 : 16, each = sizeof(*s->files);

        s->files = arena_grow(s->arena, s->files, s->room * each, room * each);
        s->room = room;
    }
    intmap_put(&s->places, number, s->count);
    s->files[s->count].path = path;
    return &s->files[s->count++];
}

void sources_take(struct sources *s, const struct names *names, const struct trace_event *ev)
{
    uint64_t line = ev->source.line;
    struct sources_file *f;

    if (ev->kind != TRACE_SOURCE || !line || line > LINES_MOST ||
        s->bytes + ev->tail_bytes > BYTES_MOST)
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

static bool lists(const char *changed, const char *path)
{
    size_t n = strlen(path);

    for (const char *at = changed; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, path, n) == 0 && (at[n] == '\n' || at[n] == '\0'))
            return true;
    return false;
}

void sources_give(struct sources *s, struct answer *a, const char *changed)
{
    struct table_source *all = arena_alloc(s->arena, (s->count + 1) * sizeof(*all));

    for (size_t i = 0; i < s->count; i++)
        all[i] = (struct table_source){s->files[i].path, s->files[i].lines, s->files[i].text,
                                       changed && lists(changed, s->files[i].path)};
    a->sources = all;
    a->source_count = s->count;
    intmap_free(&s->places);
}
