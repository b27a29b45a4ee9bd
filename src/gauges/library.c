/* library - see library.h. */
#include "gauges/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;

void *library_find(const char *name)
{
    return library ? dlsym(library, name) : NULL;
}

static void *find_any(const char *names)
{
    char name[96];
    void *found = NULL;

    while (*names && !found) {
        size_t length = strcspn(names, " ");

        snprintf(name, sizeof(name), "%.*s", (int)length, names);
        found = library_find(name);
        names += length + (names[length] == ' ');
    }
    return found;
}

/* Why the last one could not be loaded says most: the first is that it is not in the usual folders.
 */
static bool load_any(const char *const *names, char *why, size_t room)
{
    bool told = false;

    for (; *names && !library; names++) {
        const char *error;

        library = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
        error = library ? NULL : dlerror();
        if (error && (!told || !strstr(error, "No such file")))
            snprintf(why, room, "cannot load its library: %.200s", error);
        told |= error != NULL;
    }
    return library != NULL;
}

bool library_load(const char *const *names, const struct library_function *functions, size_t count,
                  char *why, size_t room)
{
    if (!load_any(names, why, room))
        return false;
    for (size_t i = 0; i < count; i++) {
        void *found = find_any(functions[i].names);

        if (!found && functions[i].needed) {
            snprintf(why, room, "%.60s has no %.*s: it is too old", names[0],
                     (int)strcspn(functions[i].names, " "), functions[i].names);
            return false;
        }
        memcpy(functions[i].to, &found, sizeof(found));
    }
    return true;
}
