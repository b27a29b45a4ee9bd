#include <stdlib.h>
#include <string.h>

void *plugin_alloc(size_t n);
void plugin_free(void *p);
char *plugin_copy(const char *text);

void *plugin_alloc(size_t n)
{
    void *p = malloc(n);

    if (p)
        *(volatile char *)p = 1;
    return p;
}

void plugin_free(void *p)
{
    free(p);
}

/* By a function of its libc, from that libc's allocator. */
char *plugin_copy(const char *text)
{
    return strdup(text);
}
