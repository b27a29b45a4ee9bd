/* Allocates at the bottom of a deep recursion. */
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static int down(int n)
{
    volatile int here = n;

    if (n == 0)
        kept = malloc(4242);
    else
        down(n - 1);
    return here;
}

int main(int argc, char **argv)
{
    down(argc > 1 ? atoi(argv[1]) : 5000);
    puts("done");
    return 0;
}
