/* locate - see locate.h. By build-id first, as gdb does, then by the name that the file itself
 * gives; one found by its name must have the checksum that is written beside it.
 */
#include "namer/locate.h"

#include "namer/debuginfod.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const char SYSTEM_DIRECTORY[] = "/usr/lib/debug";

static const char *directory(const struct resolver_options *o, size_t i)
{
    if (i < o->debug_directory_count)
        return o->debug_directories[i];
    return i == o->debug_directory_count ? SYSTEM_DIRECTORY : NULL;
}

/* Opens it when it has this build-id and debug information or symbols of its own. */
static bool open_with_id(struct image *debug, const char *path, const char *id)
{
    if (!image_open(debug, path))
        return false;
    if (strcmp(debug->id, id) == 0)
        return true;
    image_close(debug);
    return false;
}

static bool by_id(const struct resolver_options *o, const char *id, struct image *debug)
{
    char path[PATH_MAX];
    const char *at;

    for (size_t i = 0; (at = directory(o, i)); i++) {
        int length = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", at, id, id + 2);

        if (length < (int)sizeof(path) && open_with_id(debug, path, id))
            return true;
    }
    return false;
}

static bool has_crc(const struct image *image, uint32_t wanted)
{
    unsigned char buffer[16384];
    uLong crc = crc32(0, NULL, 0);
    off_t at = 0;
    ssize_t n;

    while ((n = pread(image->fd, buffer, sizeof(buffer), at)) > 0) {
        crc = crc32(crc, buffer, (uInt)n);
        at += n;
    }
    return n == 0 && crc == wanted;
}

struct link {
    const char *name;
    const char *id;
    uint32_t crc;
};

/* The file "DIRECTORY/MIDDLE/NAME" when it is the one that the link means. */
static bool open_linked(struct image *debug, const struct link *link, const char *at,
                        const char *middle)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s%s/%s", at, middle, link->name);

    if (length >= (int)sizeof(path) || !image_open(debug, path))
        return false;
    if (link->id[0] && debug->id[0] ? strcmp(link->id, debug->id) == 0 : has_crc(debug, link->crc))
        return true;
    image_close(debug);
    return false;
}

static bool by_link(const struct resolver_options *o, const char *path, struct image *code,
                    struct image *debug)
{
    GElf_Word crc = 0;
    const char *name = dwelf_elf_gnu_debuglink(code->elf, &crc), *slash = strrchr(path, '/'), *at;
    struct link link = {name, code->id, crc};
    char folder[PATH_MAX];

    if (!name || !name[0] || strchr(name, '/') || !slash || slash - path >= PATH_MAX)
        return false;
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    /* A link that names the file itself leads nowhere. */
    if (strcmp(name, slash + 1) != 0 && open_linked(debug, &link, folder, ""))
        return true;
    if (open_linked(debug, &link, folder, "/.debug"))
        return true;
    for (size_t i = 0; (at = directory(o, i)); i++) {
        if (open_linked(debug, &link, at, folder) || open_linked(debug, &link, at, ""))
            return true;
    }
    return false;
}

bool locate_debug(const struct resolver_options *o, const char *path, struct image *code,
                  const char *id, struct image *debug)
{
    char found[PATH_MAX];
    bool named = strlen(id) > 2;

    if (named && by_id(o, id, debug))
        return true;
    if (code->elf && by_link(o, path, code, debug))
        return true;
    debug->seen->uncertain |= named && o->ask_debuginfod;
    return named && o->ask_debuginfod && debuginfod_find(id, found, sizeof(found)) &&
           open_with_id(debug, found, id);
}
