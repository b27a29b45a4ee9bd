/* heirs - allocates 100 blocks and forks; the child frees the blocks that it has inherited. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 100

static void *blocks[BLOCKS];

int main(void)
{
    int pid, status = 1;

    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(1000);
    pid = fork();
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    if (pid == 0)
        _exit(0);
    return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}
