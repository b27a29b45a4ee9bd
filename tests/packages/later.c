/* later - a program without threads that loads a library that brings them, and one into a namespace
 * of its own: what a libc before 2.34 has in other libraries comes later than ours.
 *
 *     later THREADS.so PLAIN.so
 */
#include <dlfcn.h>
#include <stdio.h>

static int call(void *library, const char *name)
{
    void (*function)(void) = library ? (void (*)(void))dlsym(library, name) : NULL;

    if (function)
        function();
    return function ? 0 : 1;
}

int main(int argc, char **argv)
{
    int failed = argc < 3 || call(dlopen(argv[1], RTLD_NOW), "hold_in_thread") ||
                 call(dlopen(argv[1], RTLD_NOW), "hold_in_plugin");
    void *apart = failed ? NULL : dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW);

    failed = failed || call(apart, "hold_in_plugin") || dlclose(apart);
    puts(failed ? "failed" : "held later");
    return failed;
}
