/* device_files - see device_files.h. */
#include "inject/device_files.h"

#include "inject/device.h"
#include "inject/elf.h"
#include "inject/objects.h"
#include "inject/space.h"

#include <stdatomic.h>
#include <string.h>

#define LIBRARIES 16

static const struct device_vendor *const vendors[] = {
    &device_cuda,           &device_hip,    &device_level_zero, &device_ascend,
    &device_ascend_runtime, &device_opencl, &device_roctx,      &device_mstx};
#define VENDORS (sizeof(vendors) / sizeof(vendors[0]))

static struct device_library libraries[LIBRARIES];
static _Atomic size_t library_count;
static _Atomic unsigned long long loaded; /* objects, at the last look */

/* ---- whose library is it? ---- */

/* "libcuda.so" or "libcuda.so.1", in any folder; "libOpenCL-1ef16d62.so.1", as packages rename
 * theirs. */
static bool is_named(const char *path, const char *file)
{
    const char *base = strrchr(path, '/');
    size_t bytes = strlen(file);

    base = base ? base + 1 : path;
    return strncmp(base, file, bytes) == 0 &&
           (!base[bytes] || base[bytes] == '.' || file[bytes - 1] == '-');
}

static const struct device_vendor *vendor_of(const char *path)
{
    for (size_t v = 0; path && v < VENDORS; v++)
        for (const char *const *file = vendors[v]->files; *file; file++)
            if (is_named(path, *file))
                return vendors[v];
    return NULL;
}

/* ---- its functions ---- */

static bool is_known(const struct link_map *map)
{
    for (size_t i = 0; i < atomic_load(&library_count); i++)
        if (libraries[i].object == map->l_ld)
            return true;
    return false;
}

static bool bind(const struct link_map *map, const struct device_vendor *v)
{
    size_t place = atomic_load(&library_count);
    struct device_library *l;
    struct elf e;

    if (place == LIBRARIES || !elf_open(&e, map))
        return false;
    l = &libraries[place];
    *l = (struct device_library){.vendor = v, .object = map->l_ld};
    for (unsigned int i = 0; i < DEVICE_HELPERS; i++)
        l->helpers[i] = v->helpers[i] ? elf_find(&e, v->helpers[i]) : 0;
    for (size_t i = 0; i < v->count; i++)
        device_stub(l, &v->calls[i], elf_find(&e, v->calls[i].name));
    atomic_store(&library_count, place + 1);
    atomic_store(&process.devices, true);
    return true;
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct link_map *map;

    (void)size;
    if (atomic_exchange(&loaded, info->dlpi_adds) == info->dlpi_adds)
        return 1;
    objects_space(0, &map);
    for (; map; map = map->l_next) {
        const struct device_vendor *v = vendor_of(map->l_name);

        if (v && !is_known(map))
            *(bool *)context |= bind(map, v);
    }
    return 1;
}

bool devices_came(void)
{
    bool came = false;

    dl_iterate_phdr(look, &came);
    return came;
}

bool devices_there(void)
{
    return atomic_load_explicit(&library_count, memory_order_relaxed);
}

uintptr_t devices_ours(uintptr_t found)
{
    uintptr_t ours = found ? device_stub_of(found) : 0;

    return ours ? ours : found;
}

bool devices_know(const char *name)
{
    const struct device_call *call;
    uintptr_t ours, real;

    for (size_t i = 0; (call = device_stub_at(i, &ours, &real)); i++)
        if (strcmp(call->name, name) == 0)
            return true;
    return false;
}

bool devices_hook(size_t place, struct got_hook *hook, uintptr_t *real)
{
    uintptr_t ours;
    const struct device_call *call = device_stub_at(place, &ours, real);

    if (call)
        *hook = (struct got_hook){.name = call->name, .ours = ours};
    return call;
}

/* ---- by a vendor's own way to look functions up ---- */

/* A finder takes names without what tells versions and streams apart. */
static bool is_plain(const char *name, const char *plain)
{
    size_t bytes = strlen(plain);

    return strncmp(name, plain, bytes) == 0 && (!name[bytes] || name[bytes] == '_');
}

uintptr_t device_found(struct device_library *l, const char *name, unsigned int version,
                       uintptr_t real)
{
    const struct device_call *found = NULL;
    uintptr_t ours = device_stub_of(real);

    if (ours)
        return ours;
    for (size_t i = 0; i < l->vendor->count; i++) {
        const struct device_call *call = &l->vendor->calls[i];

        if (is_plain(call->name, name) && call->since <= version &&
            (!found || call->since > found->since))
            found = call;
    }
    return found ? device_stub(l, found, real) : real;
}
