/* user - a program of CUDA's runtime: says what its calls returned. */
#include <stddef.h>
#include <stdio.h>

int cudaGetDeviceCount(int *count);
int cudaMalloc(void **memory, size_t bytes);

int main(void)
{
    int count = -1;
    void *memory = NULL;
    int counted = cudaGetDeviceCount(&count);

    printf("%d %d %d\n", counted, count, cudaMalloc(&memory, 1 << 20));
    return 0;
}
