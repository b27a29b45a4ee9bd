/* says_user - a program that says what it does: says_user roctx|mstx. Three steps in which it
 * allocates 1 MiB each, a range around all of them, and a mark. says_user memscope: the marks of
 * operators that are for MindStudio MemScope, of a block of 1 MiB that is held too long, and one of
 * 2 MiB.
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

static void memscope(void)
{
    void (*mark)(const char *, void *) = find("mstxMarkA");
    void *volatile held = malloc(1 << 20), *volatile other;
    char text[256];

    mark("memscope-aten-b: torch._ops.aten.add.Tensor", NULL);
    snprintf(text, sizeof(text),
             "memscope-aten-ac:ptr=%llu;is_write=True;is_read=False;is_output=True;"
             "name=torch._ops.aten.add.Tensor;shape=torch.Size([4]);dtype=torch.float32;"
             "tensor_size=%d;device=npu:0",
             (unsigned long long)(uintptr_t)held, 1 << 20);
    mark(text, NULL);
    mark("memscope-aten-e: torch._ops.aten.add.Tensor", NULL);
    other = malloc(2 << 20);
    free(other);
    free(held);
    mark("memscope-other", NULL); /* a mark as any other */
}

int main(int argc, char **argv)
{
    int is_roctx = argc > 1 && strcmp(argv[1], "roctx") == 0;

    library = dlopen(is_roctx ? "libroctx64.so.4" : "libms_tools_ext.so", RTLD_NOW);
    if (!library)
        return 3;
    if (argc > 1 && strcmp(argv[1], "memscope") == 0)
        memscope();
    else if (is_roctx)
        roctx();
    else
        mstx();
    return 0;
}
