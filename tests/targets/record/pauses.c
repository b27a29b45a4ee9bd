/* Allocates while it is recorded and while it has paused that itself; frees each on the other side.
 */
#include <stdlib.h>
#include <tidemark.h>

static void *get(size_t bytes)
{
    void *volatile p = malloc(bytes);

    return p;
}

int main(void)
{
    void *before = get(1000), *kept = get(10000), *paused;

    tidemark_pause();
    paused = get(2000); /* not seen */
    free(before);       /* seen: it was */
    free(get(100));
    tidemark_resume();
    tidemark_snapshot(NULL);
    free(paused); /* its life was not seen */
    return kept == get(4000);
}
