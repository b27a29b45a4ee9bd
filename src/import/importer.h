/* importer - files of other tools that can become a trace; one file each, one line in IMPORTERS.
 * Help, the manual page and errors are made from the descriptors.
 */
#ifndef IMPORT_IMPORTER_H
#define IMPORT_IMPORTER_H

#include "import/intake.h"

struct import_file {
    const unsigned char *bytes;
    size_t size;
    const char *path;
};

struct importer {
    const char *name;    /* what such a file is called, for people */
    const char *summary; /* where they come from, and what is taken from them: for help */
    /* Is it one, by its first bytes? */
    bool (*knows)(const struct import_file *f);
    /* Tell everything; -1 with *err. */
    int (*read)(const struct import_file *f, struct intake *in, struct err *err);
};

/* All of them; the first that knows a file reads it. A new one is its file, a line here, and one in
 * src/meson.build.
 */
#define IMPORTERS(X)                                                                               \
    X(torch_snapshot)                                                                              \
    X(memscope_csv)                                                                                \
    X(memscope_db)

#define X(name) extern const struct importer importer_##name;
IMPORTERS(X)
#undef X

extern const struct importer *const importers[]; /* NULL-terminated */

/* Which one reads it; NULL with *err. */
const struct importer *importer_of(const struct import_file *f, struct err *err);

#endif
