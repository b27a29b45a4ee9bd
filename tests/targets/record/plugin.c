#include <stdlib.h>

void *plugin_alloc(size_t n);
void *plugin_alloc(size_t n)
{
    void *p = malloc(n);

    if (p)
        *(volatile char *)p = 1;
    return p;
}
