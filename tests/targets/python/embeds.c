/* embeds - a program that loads an interpreter when it already runs, more than once:
 *   embeds LIBPYTHON TIMES CODE
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *find(void *library, const char *name)
{
    void *p = dlsym(library, name);

    if (!p) {
        fprintf(stderr, "embeds: %s\n", dlerror());
        exit(2);
    }
    return p;
}

int main(int argc, char **argv)
{
    void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;

    if (!library) {
        fprintf(stderr, "embeds: %s\n", dlerror());
        return 2;
    }
    for (int i = 0; i < atoi(argv[2]); i++) {
        ((void (*)(void))find(library, "Py_Initialize"))();
        if (((int (*)(const char *))find(library, "PyRun_SimpleString"))(argv[3]) < 0)
            return 1;
        if (((int (*)(void))find(library, "Py_FinalizeEx"))() < 0)
            return 1;
    }
    puts("ended");
    return 0;
}
