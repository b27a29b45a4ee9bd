/* kinds - see kinds.h. */
#include "devices/kinds.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIGNS(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct device_kind device_kinds[DEVICE_KIND_COUNT] = {
#define X(name, program, vendor, way, library, accelerator, ...)                                   \
    [DEVICE_KIND_##name] = {#name, vendor, way, library, accelerator, SIGNS(__VA_ARGS__)},
    DEVICE_KINDS(X)
#undef X
};

const struct device_kind *device_kind_find(const char *name, size_t length)
{
    for (int i = 0; i < DEVICE_KIND_COUNT; i++)
        if (strlen(device_kinds[i].name) == length && !memcmp(device_kinds[i].name, name, length))
            return &device_kinds[i];
    return NULL;
}

const char *device_kind_names(char *out, size_t room, const char *between)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < DEVICE_KIND_COUNT && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%s", i ? between : "",
                                 device_kinds[i].name);
    return out;
}

const char *device_root(void)
{
    const char *root = getenv("TIDEMARK_DEVICE_ROOT");

    return root ? root : "";
}

static bool is_there(const char *folder, size_t length, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%.*s/%s", (int)length, folder, name);

    return n > 0 && n < PATH_MAX && access(path, F_OK) == 0;
}

/* The loader looks into these folders first. */
static bool is_in_library_path(const char *library)
{
    const char *s = getenv("LD_LIBRARY_PATH");

    while (s && *s) {
        size_t length = strcspn(s, ":;");

        if (length && is_there(s, length, library))
            return true;
        s += length + (s[length] != '\0');
    }
    return false;
}

bool device_kind_likely(const struct device_kind *k)
{
    const char *root = device_root();

    for (const char *const *sign = k->signs; *sign; sign++)
        if (is_there(root, strlen(root), *sign))
            return true;
    return k->library && is_in_library_path(k->library);
}
