/* frameworks - see frameworks.h. */
#include "inject/frameworks.h"

#include "inject/objects.h"
#include "inject/whole.h"

#include <errno.h>
#include <string.h>

/* A file of this name, whatever follows after a dot: "libtorch.so", "libtensorflow_cc.so.2". */
static const char *const files[] = {
    "libtorch_cpu.so",            /* PyTorch and LibTorch */
    "libjax_common.so",           /* jaxlib */
    "xla_extension.so",           /* jaxlib before 0.6 */
    "libtensorflow_framework.so", /* TensorFlow */
    "libtensorflow_cc.so",
    "libmindspore_core.so", /* MindSpore */
    "libpaddle.so",         /* PaddlePaddle */
    "libmxnet.so",          /* MXNet */
    "libonnxruntime.so",    /* ONNX Runtime */
    "libggml-base.so",      /* llama.cpp, whisper.cpp */
};
#define FILES (sizeof(files) / sizeof(files[0]))

static _Atomic unsigned long long looked; /* the recording and the objects of the last look */

static bool is_wanted(void)
{
    return process.control->framework_from && !whole_library();
}

static const char *name_of(const struct link_map *map)
{
    const char *path = map->l_name, *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "";
}

static bool is_framework(const char *name)
{
    for (size_t i = 0; i < FILES; i++) {
        size_t bytes = strlen(files[i]);

        if (strncmp(name, files[i], bytes) == 0 && (!name[bytes] || name[bytes] == '.'))
            return true;
    }
    return false;
}

void frameworks_module(const struct link_map *map)
{
    if (is_wanted() && is_framework(name_of(map)))
        whole_for(name_of(map));
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    unsigned long long seen = (unsigned long long)process.session << 40 | info->dlpi_adds;
    const struct link_map *map;

    (void)size;
    (void)context;
    if (atomic_exchange(&looked, seen) == seen)
        return 1;
    objects_space(0, &map);
    for (; map; map = map->l_next)
        frameworks_module(map);
    return 1;
}

bool frameworks_came(void)
{
    int kept = errno;

    if (!is_wanted() || (process_mode() & RING_MODES) != RING_SAMPLED)
        return false;
    dl_iterate_phdr(look, NULL);
    errno = kept;
    return whole_library();
}
