/* Every function of the family, once; prints what it asked for. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    volatile size_t too_many = SIZE_MAX / 2; /* the compiler shall not see it */
    char *volatile p[12];
    void *q;

    setvbuf(stdout, NULL, _IONBF, 0);
    p[0] = malloc(101);
    p[1] = calloc(7, 11);
    p[2] = realloc(NULL, 203);
    p[2] = realloc(p[2], 5003); /* free 203, alloc 5003 */
    p[3] = reallocarray(NULL, 3, 17);
    p[4] = aligned_alloc(64, 128);
    p[5] = memalign(32, 333);
    p[6] = valloc(77);
    p[7] = pvalloc(78);
    if (posix_memalign(&q, 256, 555))
        return 1;
    p[8] = q;
    if (realloc(p[0], PTRDIFF_MAX) || malloc(PTRDIFF_MAX))
        return 1; /* both fail: p[0] lives on */
    if (reallocarray(p[1], too_many, 3))
        return 1;
    memset(p[0], 1, 101);
    free(NULL);
    free(p[4]);
    free(p[5]);
    p[9] = malloc(0);
    p[10] = malloc((size_t)5 << 30); /* more than 32 bits */
    /* live: 101 77 5003 51 77 78 555 0 and 5 GiB */
    puts("allocs 12 frees 3 live 5368715062");
    return p[9] == NULL;
}
