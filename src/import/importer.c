/* importer - see importer.h. */
#include "import/importer.h"

#define X(name) &importer_##name,
const struct importer *const importers[] = {IMPORTERS(X) NULL};
#undef X

const struct importer *importer_of(const struct import_file *f, struct err *err)
{
    struct arena scratch = {0};
    const char *list = "";

    for (int i = 0; importers[i]; i++)
        if (importers[i]->knows(f))
            return importers[i];
    for (int i = 0; importers[i]; i++)
        list = arena_printf(&scratch, "%s%s%s", list, i ? ", " : "", importers[i]->name);
    err_set(err, "'%s' is not a file that can be imported; these are: %s", f->path, list);
    arena_free(&scratch);
    return NULL;
}
