/* crowd COUNT BLOCKS WAY: so many processes at once, each with so many blocks, made by its first
 * thread
 * ("processes") or by another ("threads"); and one block of the first process.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;
static int blocks;

static void *allocate(void *unused)
{
    for (int i = 0; i < blocks; i++)
        kept = malloc(100);
    return unused;
}

static void work(int threads)
{
    pthread_t other;

    if (!threads) {
        allocate(NULL);
        usleep(100000);
    } else if (!pthread_create(&other, NULL, allocate, NULL)) {
        pthread_join(other, NULL);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    blocks = argc > 3 ? atoi(argv[2]) : 0;
    for (int i = 0; argc > 3 && i < atoi(argv[1]); i++)
        if (!fork())
            work(!strcmp(argv[3], "threads"));
    while (wait(NULL) > 0)
        ;
    kept = malloc(7);
    return 0;
}
