/* accesses - a program that tells what it reads and writes. Blocks, in MiB, and what becomes of
 * them:
 *
 *   early 1   allocated before the peak, written in the middle of it after that
 *   late 2    written before the peak, freed after it
 *   held 4    read and written before the peak and after it
 *   unknown 8 nothing is told of it
 *   work 16   the peak: written and read by an operator that allocates its result in it
 */
#include "tidemark.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static char *make(size_t mib)
{
    char *p = malloc(mib * MIB);

    if (p)
        memset(p, 1, mib * MIB);
    return p;
}

int main(void)
{
    char *early = make(1), *late = make(2), *held = make(4), *unknown = make(8), *work;

    tidemark_access(late, 2 * MIB, TIDEMARK_WRITE, "load");
    tidemark_access(held, 4 * MIB, TIDEMARK_READ | TIDEMARK_WRITE, "load");
    tidemark_begin("matmul");
    work = make(16);
    tidemark_access(work, 16 * MIB, TIDEMARK_WRITE, "matmul");
    free(work);
    tidemark_end();
    tidemark_access(early + MIB / 2, 16, TIDEMARK_WRITE, "store");
    tidemark_access(held, 4 * MIB, TIDEMARK_READ, "store");
    tidemark_access(&early, sizeof(early), TIDEMARK_READ, "store"); /* no block of the heap */
    free(held);
    free(early);
    free(late);
    free(unknown);
    return 0;
}
