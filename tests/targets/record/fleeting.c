/* fleeting N - N times five allocations, of which four are freed before the thread allocates again:
 * one at once, one after an older one was freed, one by realloc, and what realloc gave.
 */
#include <stdlib.h>

static void *volatile kept;

static void *get(size_t size)
{
    return kept = malloc(size);
}

int main(int argc, char **argv)
{
    for (long n = argc > 1 ? atol(argv[1]) : 0; n > 0; n--) {
        void *older, *newer;

        free(get(100));
        older = get(100);
        newer = get(100);
        free(older);
        free(newer);
        kept = realloc(get(50), 100);
        free(kept);
    }
    return 0;
}
