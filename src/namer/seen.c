/* seen - see seen.h. */
#include "namer/seen.h"

#include <link.h>
#include <string.h>

const char *seen_file(struct seen *s, const char *path, const struct stat *file)
{
    const char *kept = strings_keep(s->strings, path);

    if (!kept || s->count == INDEX_WITNESSES_MOST) {
        s->uncertain = true;
        return kept;
    }
    s->paths[s->count] = kept;
    s->files[s->count++] = samefile_of(file);
    return kept;
}

void seen_path(struct seen *s, const char *path)
{
    struct stat file;

    seen_file(s, path, stat(path, &file) == 0 ? &file : NULL);
}

static int see_reader(struct dl_phdr_info *info, size_t size, void *to)
{
    const char *name = info->dlpi_name;

    (void)size;
    if (name && name[0] == '/' && (strstr(name, "/libdw") || strstr(name, "/libelf")))
        seen_path(to, name);
    return 0;
}

void seen_readers(struct seen *s)
{
    dl_iterate_phdr(see_reader, s);
}
