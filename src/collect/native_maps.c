/* native_maps - see native_maps.h. */
#include "collect/native_maps.h"

#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MOST ((size_t)16 << 20)
#define RANGES_MOST 65536u
#define DELETED " (deleted)"

struct line {
    uintptr_t start, end, offset;
    bool executable;
    const char *file; /* from its device to its path: the same for all mappings of one file */
    size_t file_bytes;
    const char *path;
    size_t path_bytes;
};

/* START-END rwxp OFFSET MAJOR:MINOR INODE       PATH */
static bool parse(const char *at, const char *end, struct line *l)
{
    char *next;

    *l = (struct line){.start = strtoull(at, &next, 16)};
    if (*next != '-')
        return false;
    l->end = strtoull(next + 1, &next, 16);
    if (end - next < 6 || *next != ' ' || l->end <= l->start)
        return false;
    l->executable = next[3] == 'x';
    l->offset = strtoull(next + 5, &next, 16);
    if (*next != ' ')
        return false;
    l->file = next + 1;
    l->file_bytes = (size_t)(end - l->file);
    l->path = memchr(l->file, ' ', l->file_bytes);
    l->path = l->path ? memchr(l->path + 1, ' ', (size_t)(end - l->path - 1)) : NULL;
    while (l->path && l->path < end && *l->path == ' ')
        l->path++;
    l->path_bytes = l->path ? (size_t)(end - l->path) : 0;
    return true;
}

static bool is_same_file(const struct line *a, const struct line *b)
{
    return a->path_bytes && a->file_bytes == b->file_bytes &&
           memcmp(a->file, b->file, a->file_bytes) == 0;
}

static void add(struct native_maps *m, const struct line *l, const struct line *first)
{
    struct native_range r = {.start = l->start, .end = l->end};

    if (is_same_file(l, first)) {
        r.header = first->start;
        r.path = l->path;
        r.path_bytes = l->path_bytes;
        if (r.path_bytes > strlen(DELETED) &&
            memcmp(r.path + r.path_bytes - strlen(DELETED), DELETED, strlen(DELETED)) == 0)
            r.path_bytes -= strlen(DELETED);
    }
    if (m->count && r.start < m->list[m->count - 1].end)
        return; /* the kernel tells them in order */
    memory_fit(m->list, m->room, m->count + 1);
    m->list[m->count++] = r;
}

void native_maps_take(struct native_maps *m, char *text, size_t bytes)
{
    struct line first = {.file = ""}, l; /* first: the last beginning of a file */
    const char *end;

    free(m->text);
    m->text = text;
    m->bytes = bytes;
    m->count = 0;
    for (const char *at = text; *at && m->count < RANGES_MOST; at = end + (*end == '\n')) {
        end = at + strcspn(at, "\n");
        if (!parse(at, end, &l))
            continue;
        if (l.path_bytes && !l.offset)
            first = l;
        if (l.executable)
            add(m, &l, &first);
    }
}

static char *read_all(int fd, size_t *bytes)
{
    char *text = NULL;
    size_t room = 0, used = 0;
    ssize_t got;

    do {
        memory_fit(text, room, used + 4096);
        got = read(fd, text + used, room - used - 1);
        used += got > 0 ? (size_t)got : 0;
    } while (got > 0 && used < TEXT_MOST);
    text[used] = '\0';
    *bytes = used;
    if (got == 0 && used)
        return text;
    free(text);
    return NULL;
}

bool native_maps_read(struct native_maps *m, uint32_t pid)
{
    char path[32], *text;
    size_t bytes = 0;
    int fd;

    snprintf(path, sizeof(path), "/proc/%u/maps", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    text = fd < 0 ? NULL : read_all(fd, &bytes);
    if (fd >= 0)
        close(fd);
    if (text)
        native_maps_take(m, text, bytes);
    return text != NULL;
}

void native_maps_free(struct native_maps *m)
{
    free(m->text);
    free(m->list);
    *m = (struct native_maps){0};
}

const struct native_range *native_maps_at(const struct native_maps *m, uintptr_t address)
{
    size_t low = 0, high = m->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (m->list[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->count && m->list[low].start <= address ? &m->list[low] : NULL;
}
