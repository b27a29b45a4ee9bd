/* Loads a plugin that the search order of the loader keeps from us, and lets it allocate: deep
 * (bound to its own libraries first), space (in a namespace of its own, with a libc of its own), or
 * both. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void use(void *handle, size_t bytes)
{
    void *(*get)(size_t) = (void *(*)(size_t))dlsym(handle, "plugin_alloc");
    void (*put)(void *) = (void (*)(void *))dlsym(handle, "plugin_free");
    char *(*copy)(const char *) = (char *(*)(const char *))dlsym(handle, "plugin_copy");

    for (int i = 0; i < 1000; i++) {
        put(get(bytes)); /* freed */
        put(copy("a block of the plugin's own libc"));
    }
    get(bytes); /* leaked */
}

int main(int argc, char **argv)
{
    void *deep = NULL, *space = NULL;

    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "space") != 0)
        deep = dlopen(argv[2], RTLD_LAZY | RTLD_DEEPBIND);
    if (strcmp(argv[1], "deep") != 0)
        space = dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW);
    if (deep)
        use(deep, 4321);
    if (space)
        use(space, 8642);
    return !deep && !space;
}
