/* Loads and unloads a plugin again and again; it allocates each time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    for (int i = 0; i < 200; i++) {
        void *h = dlopen(argv[1], RTLD_NOW);
        void *(*f)(size_t);

        if (!h)
            return 1;
        f = (void *(*)(size_t))dlsym(h, "plugin_alloc");
        free(f(31));
        if (i == 100)
            f(99); /* leaked */
        dlclose(h);
    }
    puts("done");
    return 0;
}
