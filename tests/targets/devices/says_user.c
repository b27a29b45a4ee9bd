/* says_user - a program that says what it does: says_user roctx|mstx. Three steps in which it allocates 1 MiB
 * each, a range around all of them, and a mark.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

static void *find(const char *name)
{
    void *p = dlsym(library, name);

    if (!p)
        exit(3);
    return p;
}

static void *volatile kept;

static void roctx(void)
{
    int (*push)(const char *) = find("roctxRangePushA"), (*pop)(void) = find("roctxRangePop");
    uint64_t (*start)(const char *) = find("roctxRangeStartA"), id = start("training");
    void (*stop)(uint64_t) = find("roctxRangeStop"), (*mark)(const char *) = find("roctxMarkA");
    char name[32];

    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "train_step %d", i);
        push(name);
        push("forward");
        kept = malloc(1 << 20);
        pop();
        pop();
    }
    stop(id);
    mark("done");
}

static void mstx(void)
{
    uint64_t (*start)(const char *, void *) = find("mstxRangeStartA"),
                                         all = start("training", NULL);
    void (*stop)(uint64_t) = find("mstxRangeEnd");
    void (*mark)(const char *, void *) = find("mstxMarkA");

    for (int i = 0; i < 3; i++) {
        uint64_t step = start("train_step", NULL), forward = start("forward", NULL);

        kept = malloc(1 << 20);
        stop(forward);
        stop(step);
    }
    stop(all);
    mark("done", NULL);
}

int main(int argc, char **argv)
{
    int is_roctx = argc > 1 && strcmp(argv[1], "roctx") == 0;

    library = dlopen(is_roctx ? "libroctx64.so.4" : "libms_tools_ext.so", RTLD_NOW);
    if (!library)
        return 3;
    if (is_roctx)
        roctx();
    else
        mstx();
    return 0;
}
