/* cache - see cache.h. */
#include "resolve/cache.h"

#include "base/hash.h"
#include "base/kept.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* By its build-id, and by what else an index depends on: the place it is at, and who made it. */
static void name_file(const char *path, const char *id, uint64_t maker, char out[NAME_MAX])
{
    uint64_t key = hash_mix(hash_bytes(HASH_START, path, strlen(path)), maker);
    int known = (int)strspn(id, "0123456789abcdef");

    snprintf(out, NAME_MAX, "%.*s-%016" PRIx64 ".names", known < 64 ? known : 64, id, key);
}

bool cache_find(struct index *x, const char *path, const char *id, uint64_t maker)
{
    struct sealed pages;
    char name[NAME_MAX];
    int fd;

    name_file(path, id ? id : "", maker, name);
    fd = kept_open(name);
    if (fd < 0 || !sealed_open(&pages, fd) || !index_open(x, &pages, path, id, maker))
        return false;
    if (index_holds(x, false))
        return true;
    index_close(x);
    return false;
}

void cache_keep(struct index *x, const char *path, const char *id)
{
    char name[NAME_MAX];

    if (!x->pages.memory || !index_holds(x, true))
        return;
    name_file(path, id ? id : "", x->head.maker, name);
    kept_put(name, sealed_write, x->pages.memory, x->pages.bytes);
}
