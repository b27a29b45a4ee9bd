/* namer - see namer.h. Only so many files and bytes are open at a time: the one used longest ago is
 * closed first, and its problem, if any, is remembered.
 */
#include "namer/namer.h"

#include "base/memory.h"
#include "namer/indexer.h"
#include "namer/module.h"

#include <stdlib.h>
#include <string.h>

#define OPEN_MOST 48                   /* modules: each can hold two files open */
#define BYTES_MOST ((size_t)512 << 20) /* of the module that is asked, and of all others */

struct namer {
    struct resolver_options options;
    struct strings strings;
    struct module **modules; /* in the order in which they were first asked for */
    size_t count, room, open;
    struct intmap by_name; /* from the addresses of the kept path and build-id to an index */
    struct module *last;
    uint64_t clock;
};

struct namer *namer_create(const struct resolver_options *o, struct err *err)
{
    struct namer *n;

    if (elf_version(EV_CURRENT) == EV_NONE) {
        err_set(err, "libelf does not know the current version of ELF files.");
        return NULL;
    }
    n = memory_zeroed(sizeof(*n));
    if (o)
        n->options = *o;
    return n;
}

void namer_free(struct namer *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->count; i++) {
        module_close(n->modules[i]);
        free(n->modules[i]);
    }
    free(n->modules);
    intmap_free(&n->by_name);
    strings_free(&n->strings);
    free(n);
}

static struct module *add_module(struct namer *n, const char *path, const char *id)
{
    struct module *m = memory_zeroed(sizeof(*m));

    memory_fit(n->modules, n->room, n->count + 1);
    m->path = path;
    m->id = id ? id : "";
    n->modules[n->count++] = m;
    return m;
}

static struct module *module_of(struct namer *n, const char *path, const char *id)
{
    uint64_t key, index;

    if (n->last && strcmp(n->last->path, path) == 0 && strcmp(n->last->id, id ? id : "") == 0)
        return n->last;
    path = strings_keep(&n->strings, path);
    id = strings_keep(&n->strings, id);
    if (!path)
        return NULL;
    key = (uint64_t)(uintptr_t)path ^ ((uint64_t)(uintptr_t)id << 16);
    while (intmap_get(&n->by_name, key, &index)) {
        struct module *m = n->modules[index];

        if (m->path == path && (id ? m->id == id : !m->id[0]))
            return m;
        key++;
    }
    intmap_put(&n->by_name, key, n->count);
    return add_module(n, path, id);
}

static void close_module(struct namer *n, struct module *m)
{
    module_close(m);
    n->open--;
}

/* Close those that were used longest ago until the rest is within bounds. */
static void make_room(struct namer *n)
{
    for (;;) {
        struct module *oldest = NULL;
        size_t bytes = 0;

        for (size_t i = 0; i < n->count; i++) {
            struct module *m = n->modules[i];

            if (!m->open)
                continue;
            bytes += module_bytes(m);
            if (!oldest || m->last_used < oldest->last_used)
                oldest = m;
        }
        if (!oldest || (n->open < OPEN_MOST && bytes <= BYTES_MOST))
            return;
        close_module(n, oldest);
    }
}

static bool make_open(struct namer *n, struct module *m)
{
    if (m->open && module_bytes(m) > BYTES_MOST)
        close_module(n, m);
    if (!m->open && !m->unusable) {
        make_room(n);
        module_open(m, &n->options, &n->strings);
        n->open += m->open;
    }
    return m->open;
}

int namer_address(struct namer *n, const char *module_path, const char *build_id_hex,
                  uint64_t address, struct resolved_name *out, int most)
{
    struct module *m = module_path ? module_of(n, module_path, build_id_hex) : NULL;

    n->last = m;
    if (!m || most <= 0 || !make_open(n, m))
        return 0;
    m->last_used = ++n->clock;
    return module_names(m, &n->strings, address, out, most);
}

void namer_want(struct namer *n, const char *module_path, const char *build_id_hex,
                const uint64_t *addresses, size_t count)
{
    struct module *m = module_of(n, module_path, build_id_hex);

    n->last = m;
    if (m && make_open(n, m))
        indexer_want(m, addresses, count);
}

bool namer_index(struct namer *n, const char *module_path, const char *build_id_hex, bool all,
                 uint64_t maker, struct indexed *out)
{
    struct module *m = module_of(n, module_path, build_id_hex);

    n->last = m;
    if (!m)
        return false;
    make_open(n, m);
    m->last_used = ++n->clock;
    return indexer_make(m, &n->strings, all, maker, out);
}

const char *namer_problem(const struct namer *n, const char *module_path)
{
    for (size_t i = 0; i < n->count; i++) {
        if (n->modules[i]->problem && strcmp(n->modules[i]->path, module_path) == 0)
            return n->modules[i]->problem;
    }
    return NULL;
}
