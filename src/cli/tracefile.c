/* tracefile - see tracefile.h. */
#include "cli/tracefile.h"

#include "base/text.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "trace/storefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MOST 10000

const char *tracefile_default(struct arena *a, const char *name, int pid)
{
    char clean[64];

    utf8_clean(clean, sizeof(clean), text_base(name));
    return arena_printf(a, "%s.%d.tide", clean[0] ? clean : "process", pid);
}

/* "x.2.tide" for "x.tide"; the first is the path itself. */
static const char *numbered(struct arena *a, const char *path, int number)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    int stem = dot && dot > (slash ? slash + 1 : path) ? (int)(dot - path) : (int)strlen(path);

    return number == 1 ? path : arena_printf(a, "%.*s.%d%s", stem, path, number, path + stem);
}

/* Something that somebody may want to keep. */
static bool is_occupied(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_size > 0;
}

static struct trace_store *create(struct arena *a, struct tracefile *f, struct err *err)
{
    for (int i = f->named && !f->force && is_occupied(f->named) ? 2 : 1; i < NAMES_MOST; i++) {
        struct trace_store *s;

        f->path = numbered(a, f->named ? f->named : f->plain, i);
        s = f->named && i == 1 ? trace_store_create(f->path, err)
                               : trace_store_create_new(f->path, err);
        if (s || err->code != STOREFILE_TAKEN)
            return s;
    }
    return NULL;
}

struct trace_store *tracefile_create(struct arena *a, struct tracefile *f, struct err *err)
{
    struct trace_store *s = create(a, f, err);

    f->state = !s && err->code == STOREFILE_STATE;
    if (!s)
        err->code = EXIT_OWN;
    else if (f->named && f->path != f->named)
        fprintf(stderr, "tidemark: '%s' is %s; this recording goes to '%s'\n", f->named,
                f->force ? "being written by another recording"
                         : "there already and is kept (--force overwrites it)",
                f->path);
    return s;
}
