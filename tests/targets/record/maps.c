/* Maps: whole, partial, grown, failing. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    char *p = mmap(NULL, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(p + 4096, 8192);                               /* a hole */
    p = mremap(p + 65536, 65536, 131072, MREMAP_MAYMOVE); /* moved or grown */
    if (munmap((void *)1, 1) == 0)
        return 1; /* fails: not aligned */
    sbrk(4096);
    puts(p == MAP_FAILED ? "failed" : "done");
    return 0;
}
