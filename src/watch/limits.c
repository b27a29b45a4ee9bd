/* limits - see limits.h. */
#include "watch/limits.h"

#include "base/count.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define STACK_ENOUGH (1u << 20)

static const int raised[] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_STACK, RLIMIT_AS, RLIMIT_DATA};

static struct rlimit before[COUNT(raised)];
static bool known;

void limits_raise(void)
{
    for (int i = 0; i < COUNT(raised); i++) {
        struct rlimit limit;

        if (getrlimit(raised[i], &limit) < 0)
            continue;
        if (!known)
            before[i] = limit;
        limit.rlim_cur = limit.rlim_max;
        setrlimit(raised[i], &limit);
    }
    known = true;
}

void limits_restore(void)
{
    for (int i = 0; known && i < COUNT(raised); i++)
        setrlimit(raised[i], &before[i]);
}

static struct {
    int (*work)(int argc, char **argv);
    int argc;
    char **argv;
    int result;
    ucontext_t here, there;
} moved;

static void begin(void)
{
    moved.result = moved.work(moved.argc, moved.argv);
}

int limits_on_stack(int (*work)(int argc, char **argv), int argc, char **argv)
{
    struct rlimit limit;
    void *stack;

    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_ENOUGH)
        return work(argc, argv);
    stack = mmap(NULL, STACK_ENOUGH, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || getcontext(&moved.there) < 0)
        return work(argc, argv);
    moved.work = work;
    moved.argc = argc;
    moved.argv = argv;
    moved.there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_ENOUGH};
    moved.there.uc_link = &moved.here;
    makecontext(&moved.there, begin, 0);
    swapcontext(&moved.here, &moved.there);
    return moved.result;
}
