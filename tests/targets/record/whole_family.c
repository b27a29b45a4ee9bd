/* Calls each function of the malloc family (but pvalloc, which many allocators lack) COUNT times,
 * for 64 bytes each, and keeps none of the blocks: whole_family COUNT [huge | wait] With `huge`,
 * COUNT allocations of half the address space fail as well, each followed by one of 10 bytes; with
 * `wait` it says so and waits for a byte first.
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void use(void *p)
{
    if (!p)
        exit(1);
    *(volatile char *)p = 1;
    free(p);
}

static void each(void)
{
    void *p = NULL;

    use(malloc(64));
    use(calloc(4, 16));
    use(realloc(malloc(32), 64));
    use(reallocarray(NULL, 4, 16));
    if (posix_memalign(&p, 64, 64))
        exit(1);
    use(p);
    use(aligned_alloc(64, 64));
    use(memalign(64, 64));
    use(valloc(64));
}

static void fail(void)
{
    volatile size_t huge = (size_t)1 << 62;
    void *p, *old = malloc(10);

    if (malloc(huge) || calloc(huge, 1) || realloc(old, huge) || aligned_alloc(64, huge) ||
        !posix_memalign(&p, 64, huge))
        exit(1);
    use(old);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    bool huge = argc > 2 && strcmp(argv[2], "huge") == 0;
    char byte;

    if (argc > 2 && !huge) {
        write(STDOUT_FILENO, "ready\n", 6);
        read(STDIN_FILENO, &byte, 1);
    }
    for (int i = 0; i < count; i++) {
        if (huge)
            fail();
        else
            each();
    }
    return 0;
}
