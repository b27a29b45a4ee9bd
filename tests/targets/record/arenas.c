/* arenas - an allocator of a program's own, which tells its blocks, in two segments of 1 MiB. At
 * the peak:
 *
 *   first    256 KiB at 0, 128 KiB at 512 KiB: 640 KiB are free, 384 of them in one piece
 *   second   64 KiB at 0
 *   neither  a mapping of 8 MiB that is no allocator's
 */
#include "tidemark.h"

#include <sys/mman.h>

#define KIB ((size_t)1 << 10)

static char *map(size_t kib)
{
    return mmap(0, kib * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
    char *first = map(1024), *second = map(1024), *neither = map(8192);

    tidemark_alloc(first, 256 * KIB);
    tidemark_alloc(first + 256 * KIB, 256 * KIB);
    tidemark_free(first + 256 * KIB);
    tidemark_alloc(first + 512 * KIB, 128 * KIB);
    tidemark_alloc(second, 64 * KIB);
    tidemark_alloc(second + 512 * KIB, 512 * KIB);
    tidemark_free(second + 512 * KIB);
    tidemark_mark("now", 0);
    munmap(neither, 8192 * KIB);
    return 0;
}
