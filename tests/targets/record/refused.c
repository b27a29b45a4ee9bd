/* refused HOW - holds 5 blocks of 20 MiB and 100 of 10,000 bytes, and then
 *   each   asks once in each way for 1 TiB, which there is not; frees all, and ends well
 *   often  asks 4,321 times for it by malloc
 *   kill   is killed
 *   abort  aborts
 *   well   ends
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define LARGE 5
#define SMALL 100
#define MUCH ((size_t)1 << 40)

static void *volatile large[LARGE], *volatile small[SMALL], *volatile got;

__attribute__((noinline)) static void hold(void)
{
    for (int i = 0; i < LARGE; i++)
        large[i] = calloc(1, 20 << 20);
    for (int i = 0; i < SMALL; i++)
        small[i] = malloc(10000);
}

static void let_go(void)
{
    for (int i = 0; i < LARGE; i++)
        free(large[i]);
    for (int i = 0; i < SMALL; i++)
        free(small[i]);
}

/* Overcommit or not: there are no addresses for it. */
static void limit(void)
{
    struct rlimit much = {MUCH / 2, MUCH / 2};

    if (setrlimit(RLIMIT_AS, &much))
        _exit(3);
}

/* To grow without being moved is refused where something lies behind; only to be moved there is no
 * room for.
 */
__attribute__((noinline)) static void ask_to_move(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mremap(p, page, 2 * page, 0) != MAP_FAILED || errno != ENOMEM)
        _exit(6);
    if (mremap(p, page, MUCH, MREMAP_MAYMOVE) != MAP_FAILED)
        _exit(7);
    munmap(p, 2 * page);
}

__attribute__((noinline)) static void ask_each(void)
{
    void *p = NULL;

    ask_to_move();

    if ((got = malloc(MUCH)) || errno != ENOMEM || (got = calloc(MUCH / 16, 16)) ||
        (got = realloc(large[0], MUCH)) || posix_memalign(&p, 64, MUCH) != ENOMEM ||
        (got = aligned_alloc(64, MUCH)) ||
        (got = mmap(NULL, MUCH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
        _exit(4);
    if (posix_memalign(&p, 3, 16) != EINVAL) /* no lack of memory */
        _exit(5);
}

__attribute__((noinline)) static void ask_often(void)
{
    for (int i = 0; i < 4321; i++)
        if ((got = malloc(MUCH)))
            _exit(4);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    hold();
    limit();
    if (strcmp(how, "each") == 0)
        ask_each();
    if (strcmp(how, "often") == 0)
        ask_often();
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "abort") == 0)
        abort();
    let_go();
    return 0;
}
