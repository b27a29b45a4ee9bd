/* many_kept - threads that allocate and free large blocks at once, far more than a recording marks
 * in its small table: of each thread `KEPT` blocks are left at the end, of the size that it says on
 * stderr. Each frees what the one before it has allocated.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define BLOCKS 1500 /* alive, of each */
#define ROUNDS 3
#define KEPT 10
#define BYTES 5008

static void *blocks[THREADS][BLOCKS];
static pthread_barrier_t barrier;

static void *work(void *arg)
{
    size_t me = (size_t)arg, other = (me + 1) % THREADS;

    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        for (size_t i = 0; i < BLOCKS; i++) {
            blocks[me][i] = malloc(BYTES);
            free(malloc(100));
        }
        pthread_barrier_wait(&barrier);
        for (size_t i = round == ROUNDS - 1 ? KEPT : 0; i < BLOCKS; i++)
            free(blocks[other][i]);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fprintf(stderr, "%d %d\n", THREADS * KEPT, BYTES);
    return 0;
}
