/* watches - a program that watches two of its blocks:
 *
 *   first    changed in region "fill" of step 1 and, one byte of it, after mark "between"
 *   second   never changed until it is no longer watched; then it is
 *   third    unmapped while it is watched
 */
#include "tidemark.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES 10000

static char first[BYTES], second[BYTES];

static void fill(void)
{
    tidemark_begin("fill");
    memset(first + 100, 7, 50);
    tidemark_end();
}

int main(void)
{
    char *third = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    tidemark_watch(first, sizeof(first), "first");
    tidemark_watch(second, sizeof(second), "second");
    tidemark_watch(third, BYTES, "third");
    tidemark_begin("quiet");
    tidemark_end();
    fill();
    tidemark_step("step", 1);
    munmap(third, BYTES);
    tidemark_mark("between", 0);
    first[BYTES - 1] = 1;
    tidemark_unwatch(second);
    second[0] = 1;
    tidemark_step("step", 2);
    tidemark_unwatch(first);
    first[0] = 9;
    tidemark_step("step", 3);
    return 0;
}
