/* module - one file of code that addresses are looked up in: its files while they are open, and
 * what there is to say about it for ever.
 */
#ifndef NAMER_MODULE_H
#define NAMER_MODULE_H

#include "namer/image.h"
#include "namer/symbols.h"
#include "namer/units.h"
#include "resolve/resolve.h"
#include "resolve/strings.h"

struct module {
    const char *path, *id; /* as asked for; id is "" where there is none */
    const char *problem;   /* one sentence, or NULL */
    bool unusable;         /* there is nothing to open */
    bool open;
    uint64_t last_used;

    /* While it is open. */
    struct arena arena;
    struct image code, debug;
    struct symbols symbols;
    struct units units; /* .dwarf NULL: none */
    struct seen seen;
    uint64_t *wanted; /* addresses, where there are no units: see indexer.h */
    size_t wanted_count, wanted_room;
};

/* Opens what there is; sets `problem`, and `unusable` when that is nothing. */
void module_open(struct module *m, const struct resolver_options *o, struct strings *strings);
void module_close(struct module *m);

/* About how much memory it takes while it is open. */
size_t module_bytes(const struct module *m);

/* As resolver_address; the module is open. */
int module_names(struct module *m, struct strings *strings, uint64_t address,
                 struct resolved_name *out, int most);

#endif
